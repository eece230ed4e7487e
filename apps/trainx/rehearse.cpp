#include "rehearse.hpp"
#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "plan/checkpoint_size.hpp"
#include "table.hpp"
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t steps_of_a_part = 2;  // the second is saved and evaluated

/// A launcher of its own, as from another shell: it can be sent signals while this process watches.
class Part {
 public:
  explicit Part(const std::function<int()>& run) : process_(::fork()) {
    if (process_ < 0)
      throw UserError(ExitCode::unavailable, "rehearsal: no process can be started");
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    int code = static_cast<int>(ExitCode::bug);
    try {
      code = run();
    } catch (const UserError& e) {
      std::cerr << "trainx: " << e.what() << std::endl;
      code = static_cast<int>(e.code());
    } catch (const std::exception& e) { std::cerr << "trainx: " << e.what() << std::endl; }
    ::_exit(code);
  }
  Part(const Part&) = delete;
  ~Part() {
    if (!code_) ::kill(process_, SIGKILL), ::waitpid(process_, nullptr, 0);
  }

  /// The exit code, once there is one.
  std::optional<int> ended() {
    int status = 0;
    if (!code_ && ::waitpid(process_, &status, WNOHANG) == process_)
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code_;
  }
  void send(int signal) const { ::kill(process_, signal); }

 private:
  pid_t process_;
  std::optional<int> code_;
};

std::int64_t saved_step(const std::string& folder) {
  const auto found = checkpoint::Store(folder).list();
  return found.empty() ? 0 : found.back().step;
}

/// Until a step beyond `after` is saved, then `signal`; returns the exit code.
int run_part(const std::function<int()>& run, const std::string& folder, std::int64_t after,
             int signal) {
  Part part(run);
  bool sent = false;
  for (;;) {
    if (const auto code = part.ended()) return *code;
    if (!sent && saved_step(folder) > after) {
      part.send(signal);
      sent = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

struct Seen {
  double step_seconds = 0;
  std::int64_t peak_bytes = 0;     // of what the run allocates
  std::int64_t process_bytes = 0;  // of all that it takes, on a GPU there
  bool evaluated = false, finite = true;
  std::int64_t steps = 0;
};
Seen seen_in(const std::string& folder) {
  Seen seen;
  std::istringstream lines(read_file(folder + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object()) continue;
    if (j.contains("eval_loss")) seen.evaluated = true;
    if (!j.contains("loss")) continue;
    ++seen.steps;
    seen.finite = seen.finite && j["loss"].is_number() && std::isfinite(j["loss"].get<double>());
    seen.peak_bytes = std::max(seen.peak_bytes, j.value("peak_memory_bytes", std::int64_t{0}));
    seen.process_bytes =
        std::max(seen.process_bytes, j.value("device_memory_bytes", std::int64_t{0}));
    if (const double ms = j.value("step_time_ms", 0.0); ms > 0) seen.step_seconds = ms / 1e3;
  }
  return seen;
}

std::int64_t bytes_of(const std::string& folder) {
  std::int64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) sum += static_cast<std::int64_t>(entry.file_size());
  return sum;
}

}  // namespace

int rehearse(RecipeArguments arguments, const Context& context,
             const std::function<int(const Prepared&)>& start) {
  const auto begin = Clock::now();
  const Prepared whole = prepare(load(arguments, "train"));
  const recipe::Recipe& asked = whole.plan.recipe;
  const std::string part = std::to_string(steps_of_a_part) + " steps";
  std::vector<std::string> settings{
      "run.name=" + asked.run.name + ".rehearsal",
      "data.pad_to=[" + std::to_string(asked.data.sequence_length) + "]",
      "checkpoint.every=" + part,
      "metrics.every=1 steps",
      "checkpoint.resume=auto",
      "checkpoint.keep_last=2"};
  if (whole.plan.eval_samples > 0)
    settings.insert(settings.end(), {"eval.every=" + part, "eval.batches=1"});
  arguments.words.insert(arguments.words.end(), settings.begin(), settings.end());
  const auto prepared = [&] { return prepare(load(arguments, "train")); };
  const Prepared first = prepared();
  const plan::RunPlan& plan = first.plan;
  const std::string folder = run_folder_of(plan.recipe);
  fs::remove_all(folder);  // of a rehearsal that failed
  const auto require = [&](bool right, ExitCode code, const std::string& what) {
    if (!right) throw UserError(code, "rehearsal: " + what + "; " + folder + " holds what it did");
  };
  const auto expect = [&](int code, int wanted, const std::string& while_doing) {
    // a run so short
    const bool over = code == 0 && plan.total_steps >= 0 && saved_step(folder) >= plan.total_steps;
    require(code == wanted || over,
            static_cast<ExitCode>(code == 0 ? static_cast<int>(ExitCode::bug) : code),
            "the run ended with " + std::to_string(code) + " instead of " + std::to_string(wanted) +
                " " + while_doing);
  };
  say(context, "rehearsal 1 of 2: trains, evaluates, saves, ends by SIGUSR1");
  expect(run_part([&] { return start(prepared()); }, folder, 0, SIGUSR1),
         static_cast<int>(ExitCode::stopped_early), "after SIGUSR1");
  const std::int64_t saved = saved_step(folder);
  say(context,
      "rehearsal 2 of 2: goes on from step " + std::to_string(saved) + ", saves, ends by SIGTERM");
  expect(run_part([&] { return start(prepared()); }, folder, saved, SIGTERM), 128 + SIGTERM,
         "after SIGTERM");

  const checkpoint::Store store(folder);
  for (const auto& found : store.list()) {
    const std::string problem = store.verify(found.path);
    require(problem.empty(), ExitCode::io_error, found.path + " does not verify: " + problem);
  }
  const Seen seen = seen_in(folder);
  require(seen.finite, ExitCode::diverged, "a loss was not finite");
  require(plan.eval_samples == 0 || seen.evaluated, ExitCode::bug, "nothing was evaluated");
  const std::int64_t planned = plan.on_gpu ? plan.memory.arena_bytes + plan.memory.library_bytes
                                           : plan.memory.total_bytes();
  require(seen.peak_bytes <= planned, ExitCode::out_of_memory,
          "memory peaked at " + human_bytes(seen.peak_bytes) + ", and " + human_bytes(planned) +
              " were planned");
  const plan::CheckpointSize saves = plan::checkpoint_size(whole.plan);
  const std::int64_t each = bytes_of(store.list().back().path), kept = each * saves.most;
  const std::int64_t free = free_disk_bytes(folder) + bytes_of(folder);
  require(kept <= free, ExitCode::io_error,
          "checkpoints will take " + human_bytes(kept) + " (" + std::to_string(saves.most) +
              ", by checkpoint.keep_last " + std::to_string(asked.checkpoint.keep_last) +
              "), and " + human_bytes(free) + " are free");
  std::vector<std::pair<std::string, std::string>> rows{
      {"steps", std::to_string(seen.steps) + " with rows of " +
                    std::to_string(asked.data.sequence_length) + " tokens, " +
                    human_seconds(seen.step_seconds) + " the last"},
      {"memory", human_bytes(seen.process_bytes) + " of " + human_bytes(plan.memory.total_bytes()) +
                     " planned, for the whole process"},
      {"checkpoints",
       human_bytes(each) + " each, " + human_bytes(kept) + " of " + human_bytes(free) + " free"},
      {"signals", "SIGUSR1 and SIGTERM saved and ended the run, which went on and verifies"}};
  if (plan.total_steps > 0 && seen.step_seconds > 0)
    rows.emplace_back("the whole run",
                      human_seconds(static_cast<double>(plan.total_steps) * seen.step_seconds) +
                          " for " + std::to_string(plan.total_steps) + " steps");
  fs::remove_all(folder);
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  print("rehearsed in " + human_seconds(took) + ", nothing is left of it\n" +
        two_columns(rows, false));
  return 0;
}

}  // namespace trainx::app
