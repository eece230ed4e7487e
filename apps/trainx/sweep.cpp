#include "recipe/sweep.hpp"
#include "child_run.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "inputs.hpp"
#include "launch/rank_environment.hpp"
#include "sweep_table.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>

namespace trainx::app {
namespace {

constexpr std::size_t most_runs = 1000;

struct SweepArguments {
  RecipeArguments recipe;
  std::int64_t jobs = 1;
};

/// The command line, taken apart: what all runs share, and the grid.
struct Grid {
  RecipeArguments shared;
  std::vector<recipe::SweptKey> keys;
};

Grid grid_of(const RecipeArguments& given) {
  Grid grid{{{}, given.config}, {}};
  for (const std::string& word : given.words) {
    const bool setting = is_setting(word);
    recipe::SweptKey key = setting ? recipe::split_values(word) : recipe::SweptKey{};
    if (key.values.size() > 1)
      grid.keys.push_back(std::move(key));
    else
      grid.shared.words.push_back(word);
  }
  return grid;
}

/// Of the first run, but for its name.
recipe::Recipe recipe_of_first(const Grid& grid) {
  RecipeArguments arguments = grid.shared;
  for (const recipe::SweptKey& key : grid.keys) {
    if (key.key == "run.name")
      throw UserError(ExitCode::usage,
                      "sweep: run.name names all runs; give several values to another key");
    arguments.words.push_back(key.key + "=" + key.values.front());
  }
  return load(arguments, "sweep").recipe;
}

/// The runs with their settings. Every recipe is planned, so that a wrong value is told before any
/// run.
std::vector<SweepRow> rows_of(const Grid& grid, const std::string& base) {
  std::vector<SweepRow> rows;
  for (const recipe::SweepRun& run : recipe::sweep_runs(grid.keys, most_runs)) {
    SweepRow row{base + run.suffix, "", run.values, {}};
    RecipeArguments arguments = grid.shared;
    for (const std::string& word : settings_of(row)) arguments.words.push_back(word);
    const Prepared p = prepare(load(arguments, "sweep"));
    if (!p.facts.data.train_present) throw UserError(ExitCode::input_missing, p.facts.data.problem);
    row.folder = run_folder_of(p.plan.recipe);
    rows.push_back(std::move(row));
  }
  return rows;
}

class Sweep {
 public:
  Sweep(const SweepArguments& a, const Context& context, Grid grid, std::vector<SweepRow> rows,
        std::string folder)
      : jobs_(static_cast<std::size_t>(a.jobs)),
        context_(context),
        grid_(std::move(grid)),
        rows_(std::move(rows)),
        folder_(std::move(folder)) {}

  /// Number of the signal that ended it, else 0.
  int run() {
    const HeldRequests held;
    std::size_t next = 0;
    while (next < rows_.size() || !running_.empty()) {
      while (asked_ == 0 && next < rows_.size() && running_.size() < jobs_) start(next++, held);
      if (running_.empty()) break;
      if (const int signal = held.wait(50); signal != 0) pass_on(signal);
      collect();
    }
    return asked_;
  }
  const std::vector<SweepRow>& rows() const { return rows_; }

 private:
  struct Running {
    std::size_t row;
    ChildRun child;
  };

  void start(std::size_t k, const HeldRequests& held) {
    const SweepRow& row = rows_[k];
    say(context_, "sweep: run " + std::to_string(k + 1) + " of " + std::to_string(rows_.size()) +
                      ", " + row.name);
    std::vector<std::string> words{"train"};
    if (!grid_.shared.config.empty()) words.insert(words.end(), {"--config", grid_.shared.config});
    words.insert(words.end(), grid_.shared.words.begin(), grid_.shared.words.end());
    for (const std::string& word : settings_of(row)) words.push_back(word);
    const auto& o = context_.output;
    if (o.json) words.emplace_back("--json");
    if (o.quiet || jobs_ > 1) words.emplace_back("--quiet");
    if (o.verbose) words.emplace_back("--verbose");
    if (!o.color) words.emplace_back("--no-color");
    running_.push_back({k, ChildRun(words, {}, held)});
  }

  /// Every run that is under way saves and ends, or only saves (SIGUSR2).
  void pass_on(int signal) {
    for (const Running& r : running_) r.child.send(signal);
    if (signal != SIGUSR2 && asked_ == 0) asked_ = signal;
  }

  void collect() {
    std::vector<Running> still;
    for (Running& r : running_) {
      const std::optional<int> code = r.child.exit_code();
      if (!code) {
        still.push_back(std::move(r));
        continue;
      }
      rows_[r.row].result = read_result(rows_[r.row].folder, *code);
      write_file_atomic(folder_ + "/sweep.json", sweep_json(rows_).dump(1) + "\n");
    }
    running_ = std::move(still);
  }

  std::size_t jobs_;
  const Context& context_;
  Grid grid_;
  std::vector<SweepRow> rows_;
  std::string folder_;
  std::vector<Running> running_;
  int asked_ = 0;  // signal that asked for the end
};

int run_sweep(const SweepArguments& a, const Context& context) {
  const std::string starter = launch::starter_of_several(environment_variable, {});
  if (!starter.empty())
    throw UserError(ExitCode::usage, "sweep starts runs of its own; start it without " + starter);
  Grid grid = grid_of(a.recipe);
  if (grid.keys.empty())
    throw UserError(
        ExitCode::usage,
        "sweep: no setting has several values; write key=a,b,c, e.g. optimizer.lr=1e-3,3e-4");
  const recipe::Recipe base = recipe_of_first(grid);
  std::vector<SweepRow> rows = rows_of(grid, base.run.name);
  const std::string folder = run_folder_of(base) + "-sweep";
  make_folders(folder);
  Sweep sweep(a, context, std::move(grid), std::move(rows), folder);
  const int signal = sweep.run();
  if (context.output.json)
    print(sweep_json(sweep.rows()).dump());
  else
    print(sweep_table(sweep.rows()));
  say(context, "numbers: " + folder + "/sweep.json" +
                   (signal != 0 ? "; stopped, the same command continues" : ""));
  if (signal == SIGUSR1) return static_cast<int>(ExitCode::stopped_early);
  if (signal != 0) return 128 + signal;
  for (const SweepRow& row : sweep.rows())
    if (row.result && row.result->exit_code != 0) return row.result->exit_code;
  return 0;
}

}  // namespace

void add_sweep(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "sweep", "Train a recipe once for each combination of values; one table at the end.");
  context.usage[command] = "CONFIG key=a,b,c [key2=d,e ...] [key=value ...] [--jobs N]";
  const auto a = std::make_shared<SweepArguments>();
  add_recipe_arguments(*command, a->recipe);
  command->add_option("--jobs", a->jobs, "Runs at a time (1).")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  command->footer(
      "Runs are named NAME-KEY-VALUE. Finished runs are not repeated: the same command resumes a "
      "sweep.\n"
      "Quote values that hold commas: 'data.pad_to=[64,128],[256]'. Ctrl-C saves the current run "
      "and ends.\n"
      "The exit code is 0 if every run finished, else that of the first run that failed.");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_sweep(*a, context); }; });
}

}  // namespace trainx::app
