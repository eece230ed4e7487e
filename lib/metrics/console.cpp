#include "metrics/console.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "metrics/start_screen.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>

namespace trainx::metrics {
namespace {

constexpr double redraw_s = 0.1;     // a terminal needs no more than ten pictures a second
constexpr double least_apart_s = 2;  // between the plain lines that stay on a terminal
constexpr double most_told = 200;    // of them in a run

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

/// The driver is asked for logged steps alone; between them the status line says what it said last.
void keep_device(StepReport& r, const StepReport& before) {
  r.clock_mhz = before.clock_mhz;
  r.clock_reason = before.clock_reason;
  r.clock_held_down = before.clock_held_down;
  r.watts = before.watts;
  r.device_memory_bytes = before.device_memory_bytes;
  r.gpu_utilization = before.gpu_utilization;
  r.temperature_celsius = before.temperature_celsius;
}

std::string eval_text(const EvalReport& r) {
  char text[160];
  std::snprintf(text, sizeof text, "step %lld: eval loss %.4f", static_cast<long long>(r.step),
                r.loss);
  std::string line = text;
  for (const auto& [name, value] : r.metrics) {
    std::snprintf(text, sizeof text, ", %s %.*f", name.c_str(), name == "perplexity" ? 2 : 4,
                  value);
    line += text;
  }
  if (r.all_batches > 0)
    line += " (" + (r.batches < r.all_batches ? std::to_string(r.batches) + " of " : "all ") +
            std::to_string(r.all_batches) + " batches)";
  if (r.entropy_floor && *r.entropy_floor > 0) {
    std::snprintf(text, sizeof text, "; %.1f %% above the entropy floor %.4f",
                  100 * (r.loss / *r.entropy_floor - 1), *r.entropy_floor);
    line += text;
  }
  return line;
}

/// -q, -v and --json, unless TRAINX_LOG says otherwise. A wrong TRAINX_LOG is refused where the
/// command line is read.
log::Level shown_from(const ConsoleOptions& o) {
  try {
    if (const auto level = log::level_from_environment()) return *level;
  } catch (const UserError&) {}
  if (o.quiet || o.json || o.secondary) return log::Level::warning;
  return o.verbose ? log::Level::debug : log::Level::info;
}

}  // namespace

Console::Console(ConsoleOptions options) : Console(options, process_screen(options.descriptor)) {}

Console::Console(ConsoleOptions options, Screen screen)
    : options_(options),
      screen_(std::move(screen)),
      progress_(!options.json && !options.quiet && !options.secondary),
      live_(progress_ && screen_.live),
      started_s_(screen_.seconds()),
      log_(shown_from(options),
           [this](log::Level level, std::string_view text) { show(level, text); }) {}

Console::~Console() {
  const std::lock_guard lock(mutex_);
  end_line();
  if (const std::int64_t lost = screen_.finish(); lost > 0) {
    warn(std::to_string(lost) + " lines of stdout are lost: nobody read them");
    screen_.finish();
  }
}

void Console::show(log::Level level, std::string_view text) {
  const std::lock_guard lock(mutex_);
  const std::string line(text);
  if (level == log::Level::debug)
    print(styled(Style::dim, line));
  else if (level == log::Level::info)
    print(line);
  else
    print(styled(level == log::Level::warning ? Style::warn : Style::bad,
                 std::string(log::name_of(level)) + ":") +
          " " + line);
}

std::string Console::styled(Style style, const std::string& text) const {
  if (!options_.color || style == Style::plain) return text;
  const char* code = style == Style::dim    ? "2"
                     : style == Style::good ? "32"
                     : style == Style::warn ? "33"
                                            : "31";
  return "\033[" + std::string(code) + "m" + text + "\033[0m";
}

void Console::event(const char* name, nlohmann::ordered_json fields) {
  if (!options_.json || options_.secondary) return;
  nlohmann::ordered_json j{{"event", name}};
  j.update(fields);
  screen_.out(json_line(j) + "\n");
}

void Console::clear_line() {
  if (shown_) screen_.err("\r\033[K");
}

void Console::draw_line() {
  // One column stays free: a terminal wraps when the last is written.
  screen_.err("\r" + status_line(last_, goal_, left_s_, options_.verbose, screen_.columns() - 1) +
              "\033[K");
  shown_ = true;
  drawn_s_ = screen_.seconds();
}

void Console::end_line() {
  if (!shown_) return;
  clear_line();
  shown_ = false;
  if (told_step_ != last_.step) tell_step(false);
}

// A plain line of the last step: on a terminal not more often than every few seconds, nor 200 times
// in a run.
void Console::tell_step(bool logged) {
  const std::string line = status_line(last_, goal_, left_s_, options_.verbose, INT_MAX);
  if (logged) log::record(log::Level::info, line);
  if (!progress_) return;
  const double now = screen_.seconds(),
               apart =
                   std::max(least_apart_s, (now - started_s_ + std::max(left_s_, 0.0)) / most_told);
  if (live_ && logged && told_step_ >= 0 && now - told_s_ < apart) return;
  told_step_ = last_.step;
  told_s_ = now;
  print(line);
}

void Console::print(const std::string& lines) {
  const bool was_shown = shown_;
  clear_line();
  screen_.err(lines + "\n");
  if (was_shown) draw_line();
}

double Console::seconds_left(const StepReport& r) {
  const double step_s = r.step_time_ms / 1e3;
  mean_step_s_ = mean_step_s_ > 0 ? 0.95 * mean_step_s_ + 0.05 * step_s : step_s;
  if (goal_.total_steps >= 0)
    return std::max<double>(0, static_cast<double>(goal_.total_steps - r.step) * mean_step_s_);
  if (goal_.total_seconds > 0)
    return std::max(0.0,
                    goal_.total_seconds - goal_.seconds_before - (screen_.seconds() - started_s_));
  return -1;
}

void Console::start(const std::string& title, const std::string& run_folder,
                    const std::vector<StartRow>& rows, const std::vector<Setting>& settings,
                    const Goal& goal) {
  const std::lock_guard lock(mutex_);
  goal_ = goal;
  started_s_ = screen_.seconds();
  nlohmann::ordered_json table = nlohmann::ordered_json::object(), origins = table;
  for (const Setting& s : settings) {
    table[s.key] = s.value;
    origins[s.key] = s.origin;
  }
  event("start", {{"title", title},
                  {"run_folder", run_folder},
                  {"total_steps", goal.total_steps},
                  {"settings", table},
                  {"origins", origins}});
  const std::string screen = start_screen(title, rows, settings);
  log::record(log::Level::info, screen);
  if (!progress_) return;
  print(screen);
  if (options_.verbose) print_all(settings);
}

void Console::print_all(const std::vector<Setting>& settings) {
  std::size_t key_width = 0, value_width = 0;
  for (const Setting& s : settings) {
    key_width = std::max(key_width, s.key.size());
    value_width = std::max(value_width, std::min<std::size_t>(s.value.size(), 32));
  }
  std::string lines;
  for (const Setting& s : settings)
    lines += (lines.empty() ? "" : "\n") +
             styled(s.origin == "default" ? Style::dim : Style::plain,
                    "  " + padded(s.key, key_width) + "  " + padded(s.value, value_width) + "  " +
                        s.origin);
  if (!lines.empty()) print(lines);
}

void Console::step(const StepReport& report, bool logged) {
  const std::lock_guard lock(mutex_);
  const StepReport before = std::move(last_);
  last_ = report;
  if (!logged) keep_device(last_, before);
  left_s_ = seconds_left(report);
  if (logged) event("step", to_json(report));
  if (logged) tell_step(true);
  if (live_ && (!shown_ || screen_.seconds() - drawn_s_ >= redraw_s)) draw_line();
}

void Console::eval(const EvalReport& report) {
  const std::lock_guard lock(mutex_);
  event("eval", to_json(report));
  tell(eval_text(report));
}

void Console::answer(const EvalReport& report) {
  const std::lock_guard lock(mutex_);
  event("eval", to_json(report));
  if (!options_.json) screen_.out(eval_text(report) + "\n");
}

void Console::sample(const SampleReport& r) {
  const std::lock_guard lock(mutex_);
  event("sample", to_json(r));
  if (progress_) print("step " + std::to_string(r.step) + ": the model writes: " + r.text);
}

void Console::fallback(const Fp8Fallback& r, const std::string& why) {
  const std::lock_guard lock(mutex_);
  event("fp8_fallback",
        {{"step", r.step}, {"weights", r.weights}, {"products", r.products}, {"message", why}});
  warn(why);
}

void Console::checkpoint(const CheckpointReport& r) {
  const std::lock_guard lock(mutex_);
  event("checkpoint",
        {{"step", r.step}, {"path", r.path}, {"waited_s", r.waited_s}, {"seconds", r.seconds}});
  const bool behind = r.waited_s < 0.9 * r.seconds && r.seconds > 0.1;
  tell("step " + std::to_string(r.step) + ": saved " + r.path +
       (behind ? " in " + human_seconds(r.seconds) + ", for which training waited " +
                     human_seconds(r.waited_s)
               : ""));
}

void Console::resume(std::int64_t step, const std::string& path) {
  const std::lock_guard lock(mutex_);
  event("resume", {{"step", step}, {"path", path}});
  tell("resumes after step " + std::to_string(step) + " from " + path);
}

void Console::skipped_checkpoint(const std::string& path, const std::string& why) {
  const std::lock_guard lock(mutex_);
  event("skipped_checkpoint", {{"path", path}, {"reason", why}});
  warn("skipped " + path + ": " + why);
}

void Console::warning(const std::string& text) {
  const std::lock_guard lock(mutex_);
  event("warning", {{"message", text}});
  warn(text);
}

void Console::message(const std::string& text) {
  const std::lock_guard lock(mutex_);
  tell(text);
}

void Console::detail(const std::string& text) {
  const std::lock_guard lock(mutex_);
  log::record(log::Level::debug, text);
  if (progress_ && options_.verbose) print(text);
}

void Console::stopped(const std::string& text) {
  const std::lock_guard lock(mutex_);
  end_line();
  tell(text);
}

void Console::done(std::int64_t step, const std::string& run_folder, const std::string& text) {
  const std::lock_guard lock(mutex_);
  event("done", {{"step", step}, {"run_folder", run_folder}, {"message", text}});
  end_line();
  log::record(log::Level::info, text);
  if (progress_) print(styled(Style::good, text));
}

void Console::error(int exit_code, const std::string& sentence,
                    const std::vector<Problem>& problems) {
  const std::lock_guard lock(mutex_);
  nlohmann::ordered_json fields{{"exit_code", exit_code}, {"message", sentence}};
  for (const Problem& p : problems)
    fields["problems"].push_back({{"file", p.file},
                                  {"line", p.line},
                                  {"column", p.column},
                                  {"key", p.key},
                                  {"message", p.message}});
  event("error", std::move(fields));
  end_line();
  std::string lines;
  if (problems.size() > 1)
    for (const Problem& problem : problems) lines += problem.text() + "\n";
  log::record(log::Level::error, lines + sentence);
  print(lines + styled(Style::bad, "trainx:") + " " + sentence);
}

void Console::tell(const std::string& text) {
  log::record(log::Level::info, text);
  if (progress_) print(text);
}

void Console::warn(const std::string& text) {
  log::record(log::Level::warning, text);
  print(styled(Style::warn, "warning:") + " " + text);
}

}  // namespace trainx::metrics
