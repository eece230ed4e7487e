#include "metrics/status_line.hpp"
#include "core/units.hpp"
#include <cmath>
#include <cstdio>
#include <vector>

namespace trainx::metrics {
namespace {

std::string format(const char* pattern, double x) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, x);
  return text;
}

}  // namespace

std::string status_line(const StepReport& r, const Goal& goal, double seconds_left, bool verbose, int columns) {
  const std::string total = goal.total_steps >= 0 ? std::to_string(goal.total_steps) : std::string();
  std::string step = std::to_string(r.step);
  if (step.size() < total.size()) step.insert(0, total.size() - step.size(), ' ');   // columns stay where they are
  std::vector<std::string> parts{"step " + step + (total.empty() ? "" : "/" + total), "loss " + format("%.4f", r.loss), "lr " + format("%.2e", r.lr),
                                 human_count(r.tokens_per_second) + " tokens/s", human_bytes(r.peak_memory_bytes)};
  if (r.clock_held_down && r.clock_mhz) parts.push_back(std::to_string(*r.clock_mhz) + " MHz (" + r.clock_reason + ")");
  if (seconds_left >= 0.5) parts.push_back(human_seconds(std::round(seconds_left)) + " left");
  if (verbose) {
    parts.push_back("grad norm " + format("%.3f", r.grad_norm));
    parts.push_back("step " + format("%.1f ms", r.step_time_ms));
    parts.push_back("data wait " + format("%.1f ms", r.data_wait_ms));
    if (r.gpu_utilization) parts.push_back("GPU " + format("%.0f %%", 100 * *r.gpu_utilization));
    if (r.watts) parts.push_back(format("%.0f W", *r.watts));
    if (r.temperature_celsius) parts.push_back(std::to_string(*r.temperature_celsius) + " C");
  }
  std::string line;
  for (const std::string& part : parts) {
    const std::string more = (line.empty() ? "" : " | ") + part;
    if (line.size() + more.size() > static_cast<std::size_t>(std::max(columns, 0))) break;
    line += more;
  }
  return line;
}

}  // namespace trainx::metrics
