#include "metrics/data_wait_watch.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::metrics {

std::optional<std::string> DataWaitWatch::news(std::int64_t step, double step_s, double wait_s) {
  if (told_ || ++steps_ <= first_steps) return std::nullopt;
  step_s_ += step_s;
  wait_s_ += std::min(wait_s, step_s);
  if (step_s_ < window_s) return std::nullopt;
  const double share = wait_s_ / step_s_;
  step_s_ = wait_s_ = 0;
  if (!(share > told_share)) return std::nullopt;
  told_ = true;
  return "step " + std::to_string(step) + ": steps wait for data " +
         std::to_string(std::llround(100 * share)) + " % of their time; raise data.workers (" +
         std::to_string(workers_) + ") up to the free cores, or data.prefetch (" +
         std::to_string(prefetch_) + ") if single samples are slow";
}

}  // namespace trainx::metrics
