#include "child_run.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "inputs.hpp"
#include "json_number.hpp"
#include "launch/rank_environment.hpp"
#include "html_report/range_test.hpp"
#include "plan/adapted_dims.hpp"
#include <nlohmann/json.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <sstream>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

struct BenchLrArguments {
  RecipeArguments recipe;
  std::int64_t steps = 100;
  double from = 1e-6, to = 10;
  std::string out;
};

/// The run's folder while the test lasts.
class ThrowAway {
 public:
  explicit ThrowAway(std::string path) : path_(std::move(path)) {
    fs::remove_all(path_);  // of a test that was killed
    make_folders(path_);
  }
  ~ThrowAway() {
    std::error_code ignored;  // a worker that was just killed may still hold its files
    for (int tries = 0; tries < 5 && fs::remove_all(path_, ignored) && fs::exists(path_); ++tries) {
    }
  }
  ThrowAway(const ThrowAway&) = delete;
  ThrowAway& operator=(const ThrowAway&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The recipe with a rising learning rate, and without what only a whole run needs.
recipe::Recipe tested(recipe::Recipe r, const BenchLrArguments& a, const std::string& folder) {
  const auto in_steps = [](std::int64_t n) {
    return Duration{static_cast<double>(n), Duration::Unit::steps};
  };
  r.run.name = "run";
  r.run.output_dir = folder;
  r.run.duration = in_steps(a.steps);
  r.optimizer.lr = a.to;
  r.schedule = {};
  r.schedule.course = options::RangeTestSchedule{a.from / a.to};
  r.checkpoint = {};
  r.checkpoint.every.value = in_steps(a.steps + 1);
  r.eval = {};
  r.generate = {};
  if (plan::gather_facts(r).data.eval_present) r.eval.every = in_steps(a.steps + 1);
  r.metrics = {};
  r.metrics.every = in_steps(1);
  return r;
}

/// x learning rate, y loss, of the steps that are logged.
html_report::Points points_in(const std::string& metrics) {
  html_report::Points points;
  if (!fs::exists(metrics)) return points;
  std::istringstream lines(read_file(metrics));
  for (std::string line; std::getline(lines, line);) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("loss") || !j.contains("lr") || !j["lr"].is_number())
      continue;
    const bool finite = j["loss"].is_number();
    points.push_back({j["lr"].get<double>(),
                      finite ? j["loss"].get<double>() : std::numeric_limits<double>::quiet_NaN()});
  }
  return points;
}

void require_end(int code, const html_report::RangeTest& test, const ThrowAway& folder) {
  const bool diverged = code == static_cast<int>(ExitCode::diverged) && test.diverged_at;
  if (code == 0 || diverged) return;
  std::string words = fs::exists(folder.file("output")) ? read_file(folder.file("output")) : "";
  while (!words.empty() && words.back() == '\n') words.pop_back();
  const std::string last = words.substr(words.rfind('\n') + 1);  // npos + 1 is 0
  throw UserError(
      static_cast<ExitCode>(code),
      "bench lr: the run ended with " + std::to_string(code) + (last.empty() ? "" : ": " + last));
}

/// Trains until the last step or until the loss diverges; no checkpoint is written.
html_report::RangeTest measure(const recipe::Recipe& r, const ThrowAway& folder,
                               std::int64_t steps) {
  write_file_atomic(folder.file("recipe.yaml"), recipe::dump(r));
  const HeldRequests held;
  ChildRun run({"train", folder.file("recipe.yaml"), "--quiet", "--no-color"},
               {folder.file("output"), true}, held);
  for (;;) {
    const std::optional<int> code = run.exit_code();  // before reading: then nothing is missed
    const auto test = html_report::analyze_range_test(points_in(folder.file("run/metrics.jsonl")));
    if (code) require_end(*code, test, folder);
    if (code || test.diverged_at || static_cast<std::int64_t>(test.points.size()) >= steps)
      return test;
    if (const int signal = held.wait(100); signal != 0 && signal != SIGUSR2)
      throw UserError(static_cast<ExitCode>(128 + signal),
                      "bench lr: stopped after " + std::to_string(test.points.size()) + " of " +
                          std::to_string(steps) + " steps; nothing is left of it");
  }
}

nlohmann::ordered_json to_json(const html_report::RangeTest& test, const std::string& name) {
  nlohmann::ordered_json j{{"name", name},
                           {"steepest", number(test.steepest)},
                           {"tenth_of_divergence", number(test.tenth())},
                           {"diverged_at", number(test.diverged_at)}};
  j["points"] = nlohmann::ordered_json::array();
  for (const auto& p : test.points)
    j["points"].push_back(
        {{"lr", p.lr}, {"loss", number(p.loss)}, {"smoothed", number(p.smoothed)}});
  return j;
}

/// Some twenty of the steps, then both suggestions.
std::string table_of(const html_report::RangeTest& test) {
  std::string text = "learning rate        loss    smoothed\n";
  const std::size_t stride = std::max<std::size_t>(test.points.size() / 20, 1);
  for (std::size_t i = 0; i < test.points.size(); ++i) {
    if (i % stride != 0 && i + 1 != test.points.size()) continue;
    const auto& p = test.points[i];
    char line[96];
    std::snprintf(line, sizeof line, "%13.3e  %10.4f  %10.4f%s\n", p.lr, p.loss, p.smoothed,
                  test.diverged_at == p.lr ? "  diverged" : "");
    text += line;
  }
  const auto add = [&](const char* what, const std::optional<double>& lr, const char* otherwise) {
    char line[96];
    std::snprintf(line, sizeof line, "%.3g", lr.value_or(0));
    text += std::string(what) + ": " + (lr ? "optimizer.lr=" + std::string(line) : otherwise) +
            "\n";
  };
  add("steepest descent", test.steepest, "none, the loss never fell");
  add("a tenth of the learning rate that diverged", test.tenth(),
      "none, the loss never diverged; try a larger --to");
  return text;
}

int run_bench_lr(const BenchLrArguments& a, const Context& context) {
  if (!(a.from > 0) || !(a.to > a.from) || !std::isfinite(a.to))
    throw UserError(ExitCode::usage, "bench lr: --from must be above 0 and below --to");
  const std::string starter = launch::starter_of_several(environment_variable, {});
  if (!starter.empty())
    throw UserError(ExitCode::usage,
                    "bench lr starts a run of its own; start it without " + starter);
  const auto loaded = load(a.recipe, "bench lr");
  const std::string name = loaded.recipe.run.name,
                    out = a.out.empty() ? run_folder_of(loaded.recipe) + ".lr" : a.out;
  make_folders(out);
  const html_report::RangeTest test = [&] {
    const ThrowAway folder(out + "/run.unfinished");
    const recipe::Recipe r = tested(loaded.recipe, a, folder.path());
    const Prepared p = prepare(
        {r, loaded.origins, loaded.source});  // what cannot run is told before a process starts
    if (!p.facts.data.train_present) throw UserError(ExitCode::input_missing, p.facts.data.problem);
    say(context,
        "bench lr: " + std::to_string(a.steps) + " steps of " + name + ", the learning rate rises");
    return measure(r, folder, a.steps);
  }();
  const auto j = to_json(test, name);
  write_file_atomic(out + "/lr.json", j.dump(1) + "\n");
  write_file_atomic(out + "/lr.html", html_report::range_test_page(test, name));
  if (context.output.json)
    print(j.dump());
  else
    print(table_of(test) + "plot: " + out + "/lr.html, numbers: " + out + "/lr.json");
  return 0;
}

}  // namespace

void add_bench_lr(CLI::App& bench, Context& context) {
  CLI::App* command =
      bench.add_subcommand("lr", "Find a learning rate: train a few steps while it rises.");
  context.usage[command] =
      "CONFIG [key=value ...] [--steps N] [--from LR] [--to LR] [--out FOLDER]";
  const auto a = std::make_shared<BenchLrArguments>();
  add_recipe_arguments(*command, a->recipe);
  command->add_option("--steps", a->steps, "Steps of the test (100).")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 20));
  command->add_option("--from", a->from, "First learning rate (1e-6).")->type_name("LR");
  command->add_option("--to", a->to, "Last learning rate (10).")->type_name("LR");
  command->add_option("--out", a->out, "Folder for lr.json and lr.html (outputs/NAME.lr).")
      ->type_name("FOLDER");
  command->footer(
      "Trains from new weights, or from model.init_from. Saves no checkpoint and leaves no run.\n"
      "The test ends when the smoothed loss is a quarter above its lowest value.");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_bench_lr(*a, context); }; });
}

}  // namespace trainx::app
