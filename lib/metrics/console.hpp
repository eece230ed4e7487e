// What a person, or a program that asked for --json, is told while a run goes on.
#pragma once
#include "core/problem.hpp"
#include "log/log.hpp"
#include "metrics/screen.hpp"
#include "metrics/start_screen.hpp"
#include "metrics/status_line.hpp"
#include <cstdint>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainx::metrics {

struct ConsoleOptions {
  // events, one object a line, on stdout and nothing else there; on stderr only warnings and errors
  bool json = false;
  bool quiet = false;  // warnings and errors only
  bool verbose = false;
  bool color = false;
  // of a rank other than 0: it shows warnings and errors only; its log file has the rest
  bool secondary = false;
  int descriptor = 2;  // that messages are written to
};

/// Prints what people see and records the same in the run's log. On a terminal one live status line
/// rewrites itself below everything else, and a logged step stays above it at sensible distances;
/// elsewhere every logged step is a plain line. May be called from several threads. Lines of log::
/// from elsewhere are shown as well: at least `info`, `debug` with -v, `warning` with -q or --json,
/// or what TRAINX_LOG says.
class Console {
 public:
  explicit Console(ConsoleOptions options);
  Console(ConsoleOptions options, Screen screen);
  ~Console();  // leaves the last status line standing
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// One screen, at most 20 lines of 80 columns: the title ("training gpt2 on 2 cores into
  /// outputs/x"), the rows, and which settings are not defaults. With -v every setting and where it
  /// came from.
  void start(const std::string& title, const std::string& run_folder,
             const std::vector<StartRow>& rows, const std::vector<Setting>& settings,
             const Goal& goal);
  /// Every step; `logged` where metrics.every says so.
  void step(const StepReport& report, bool logged);
  void eval(const EvalReport& report);
  /// The same where it is the answer of a command and not news of a run: on stdout, also under -q.
  void answer(const EvalReport& report);
  /// A text that the model wrote.
  void sample(const SampleReport& report);
  /// `why`: a sentence.
  void fallback(const Fp8Fallback& report, const std::string& why);
  void checkpoint(const CheckpointReport& report);
  void resume(std::int64_t step, const std::string& path);
  void skipped_checkpoint(const std::string& path, const std::string& why);
  void warning(const std::string& text);
  void message(const std::string& text);  // for people only
  void detail(const std::string& text);   // the same under -v
  /// A signal ended the run before its goal.
  void stopped(const std::string& text);
  /// The run's end: `text` says where things are and what to do next.
  void done(std::int64_t step, const std::string& run_folder, const std::string& text);
  /// Prints "trainx: sentence" and above it, if there are several, the problems that it sums up
  /// (file:line:col: ...). The event of --json has each problem's file, line, column, key and
  /// message.
  void error(int exit_code, const std::string& sentence, const std::vector<Problem>& problems = {});

 private:
  enum class Style : std::uint8_t { plain, dim, good, warn, bad };
  std::string styled(Style style, const std::string& text) const;
  void event(const char* name, nlohmann::ordered_json fields);
  void print(const std::string& lines);                // above the live line
  void show(log::Level level, std::string_view text);  // a line of the log, from elsewhere
  void clear_line();
  void draw_line();
  void end_line();  // the live line goes; the last step stays as a plain line
  void tell_step(bool logged);
  void print_all(const std::vector<Setting>& settings);
  // Both are recorded; the first is shown as the run's news.
  void tell(const std::string& text);
  void warn(const std::string& text);
  double seconds_left(const StepReport& report);

  ConsoleOptions options_;
  Screen screen_;
  bool progress_;  // steps, evaluations and checkpoints are told to a person
  bool live_;
  Goal goal_;
  std::mutex mutex_;
  StepReport last_;
  std::int64_t told_step_ = -1;  // the last one with a plain line
  double started_s_ = 0, drawn_s_ = 0, told_s_ = 0, left_s_ = -1;
  double mean_step_s_ = 0;  // exponential mean
  bool shown_ = false;      // the live line is on the screen
  log::Screen log_;         // last: nothing is shown before the rest is made
};

}  // namespace trainx::metrics
