#include "train/profile_observer.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/units.hpp"
#include <cstdio>

namespace trainx::train {
namespace {

constexpr std::int64_t left_out = 3;

std::string milliseconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 1 ? "%.3f ms" : "%.1f ms", ms);
  return text;
}

}  // namespace

ProfileObserver::ProfileObserver(TrainingParts& parts, metrics::Console& console, std::string path,
                                 std::int64_t steps)
    : parts_(parts), console_(console), path_(std::move(path)), steps_(steps) {}

bool ProfileObserver::needs_rest_after(std::int64_t step) const { return step == first_; }

void ProfileObserver::on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) {
  if (first_ < 0) first_ = state.step - 1 + left_out;
  if (at_rest && state.step == first_)
    parts_.executor->time_next(steps_,
                               [this](const execute::StepTimes& t) { timed_.push_back(t); });
  if (state.step <= first_ || written_) return;
  wait_s_ += step.data_wait_s;
  step_s_ += step.step_time_s;
  if (static_cast<std::int64_t>(timed_.size()) == steps_ && state.step >= first_ + steps_) write();
}

void ProfileObserver::on_end(TrainState&, execute::Request) {
  if (!written_ && !timed_.empty()) write();
  if (!written_)
    console_.warning("--profile: the run ended before " + std::to_string(left_out + steps_) +
                     " steps were done; no trace was written");
}

void ProfileObserver::write() {
  written_ = true;
  write_file_atomic(path_, execute::chrome_trace(timed_));
  double total = 0;
  for (const execute::StepTimes& t : timed_) total += t.ms / static_cast<double>(timed_.size());
  const auto work = execute::by_work(timed_);
  std::string text = "profile of " + std::to_string(timed_.size()) +
                     " steps: " + milliseconds(total) + " a step:";
  for (const auto& [kind, ms] : work)
    text += " " + std::string(name_of(kind)) + " " + milliseconds(ms) + ",";
  text += " data wait " + milliseconds(1e3 * wait_s_ / static_cast<double>(timed_.size()));
  const bool waits = wait_s_ > step_s_ / 2;
  const PowerReading power = parts_.device->power();
  text += "; bound by " +
          (waits
               ? std::string("the data: more data.workers, or a larger data.prefetch")
               : std::string(work.empty() ? "nothing that was seen" : name_of(work.front().first)));
  if (!waits && !power.clock_limits.empty())
    text += " under the GPU's " + power.clock_reason() +
            (power.clock_mhz ? " (" + std::to_string(*power.clock_mhz) + " MHz)" : "");
  console_.message(text);
  console_.message("the trace is in " + path_ + "; open it in chrome://tracing or Perfetto");
}

}  // namespace trainx::train
