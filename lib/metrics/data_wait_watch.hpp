#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace trainx::metrics {

/// Tells once that steps wait for data, with the settings that help.
class DataWaitWatch {
 public:
  static constexpr double told_share = 0.05;      // of the time that steps take
  static constexpr double window_s = 5;           // over which the share is measured
  static constexpr std::int64_t first_steps = 3;  // left out: queues fill, memory is touched

  DataWaitWatch(std::int64_t workers, std::int64_t prefetch)
      : workers_(workers), prefetch_(prefetch) {}
  /// After a step that took `step_s`, of which it waited `wait_s`.
  std::optional<std::string> news(std::int64_t step, double step_s, double wait_s);

 private:
  std::int64_t workers_, prefetch_, steps_ = 0;
  double step_s_ = 0, wait_s_ = 0;  // of the window
  bool told_ = false;
};

}  // namespace trainx::metrics
