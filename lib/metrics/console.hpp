// What a person, or a program that asked for --json, is told while a run goes on.
#pragma once
#include "metrics/screen.hpp"
#include "metrics/status_line.hpp"
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainx::metrics {

struct ConsoleOptions {
  bool json = false;                    // events, one object a line, on stdout and nothing else there; on stderr only warnings and errors
  bool quiet = false;                   // warnings and errors only
  bool verbose = false;
  bool color = false;
};

/// A resolved setting and where it came from.
struct Setting { std::string key, value, origin; };

/// On a terminal one live status line that rewrites itself, above which everything else is printed; otherwise a plain line whenever a step is logged.
/// May be called from several threads.
class Console {
 public:
  explicit Console(ConsoleOptions options, Screen screen = process_screen());
  ~Console();                           // leaves the last status line standing
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// The table of settings. `title` is a line above it, e.g. "training gpt2 (1.2M parameters) on 2 CPU cores into outputs/x".
  void start(const std::string& title, const std::string& run_folder, const std::vector<Setting>& settings, const Goal& goal);
  /// Every step; `logged` where metrics.every says so.
  void step(const StepReport& report, bool logged);
  void eval(const EvalReport& report);
  /// The same where it is the answer of a command and not news of a run: on stdout, also under -q.
  void answer(const EvalReport& report);
  void checkpoint(const CheckpointReport& report);
  void resume(std::int64_t step, const std::string& path);
  void skipped_checkpoint(const std::string& path, const std::string& why);
  void warning(const std::string& text);
  void message(const std::string& text);   // for people only
  void detail(const std::string& text);    // the same under -v
  /// The run's end: `text` says where things are and what to do next.
  void done(std::int64_t step, const std::string& run_folder, const std::string& text);
  /// Prints "trainx: sentence", above it the `problems` that it sums up, a line each as editors understand them (file:line:col: ...).
  void error(int exit_code, const std::string& sentence, const std::vector<std::string>& problems = {});

 private:
  enum class Style : std::uint8_t { plain, dim, good, warn, bad };
  std::string styled(Style style, const std::string& text) const;
  void event(const char* name, nlohmann::ordered_json fields);
  void print(const std::string& lines);    // above the live line
  void clear_line();
  void draw_line();
  void leave_line();                      // the status line stays, what follows begins below it
  double seconds_left(const StepReport& report);

  ConsoleOptions options_;
  Screen screen_;
  bool progress_;                       // steps, evaluations and checkpoints are told to a person
  bool live_;
  Goal goal_;
  std::mutex mutex_;
  StepReport last_;
  double started_s_ = 0, drawn_s_ = 0, left_s_ = -1;
  double mean_step_s_ = 0;              // exponential mean
  bool shown_ = false;                  // the live line is on the screen
};

}  // namespace trainx::metrics
