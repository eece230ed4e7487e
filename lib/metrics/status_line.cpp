#include "metrics/status_line.hpp"
#include "core/units.hpp"
#include <algorithm>
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

/// One part of the line. Parts of lower rank go first when the line is too long; the order on the
/// screen stays.
struct Part {
  std::string text;
  int rank;
};

std::size_t width_of(const std::vector<Part>& parts) {
  std::size_t width = 0;
  for (const Part& part : parts) width += (width == 0 ? 0 : 3) + part.text.size();
  return width;
}

/// "262 MiB of 260 MiB planned": both are the whole process, on a GPU its memory there.
std::string memory_text(const StepReport& r, const Goal& goal) {
  if (r.device_memory_bytes <= 0) return {};
  return human_bytes(r.device_memory_bytes) +
         (goal.planned_bytes > 0 ? " of " + human_bytes(goal.planned_bytes) + " planned" : "");
}

}  // namespace

std::string status_line(const StepReport& r, const Goal& goal, double seconds_left, bool verbose,
                        int columns) {
  const std::string total = goal.total_steps >= 0 ? std::to_string(goal.total_steps)
                                                  : std::string();
  std::string step = std::to_string(r.step);
  // columns stay where they are
  if (step.size() < total.size()) step.insert(0, total.size() - step.size(), ' ');
  std::vector<Part> parts{{"step " + step + (total.empty() ? "" : "/" + total), 9},
                          {"loss " + format("%.4f", r.loss), 8},
                          {"lr " + format("%.2e", r.lr), 4},
                          {human_count(r.tokens_per_second) + " tokens/s", 6}};
  for (auto metric = r.metrics.rbegin(); metric != r.metrics.rend(); ++metric)
    parts.insert(parts.begin() + 2, {metric->first + format(" %.4f", metric->second), 7});
  if (const std::string memory = memory_text(r, goal); !memory.empty())
    parts.push_back({memory, 2});
  if (r.clock_held_down && r.clock_mhz)
    parts.push_back({std::to_string(*r.clock_mhz) + " MHz (" + r.clock_reason + ")", 5});
  if (seconds_left >= 0.5) parts.push_back({human_seconds(std::round(seconds_left)) + " left", 7});
  if (verbose) {
    parts.push_back({"grad norm " + format("%.3f", r.grad_norm), 3});
    parts.push_back({"step " + format("%.1f ms", r.step_time_ms), 3});
    parts.push_back({"data wait " + format("%.1f ms", r.data_wait_ms), 1});
    if (r.gpu_utilization)
      parts.push_back({"GPU " + format("%.0f %%", 100 * *r.gpu_utilization), 1});
    if (r.watts) parts.push_back({format("%.0f W", *r.watts), 0});
    if (r.temperature_celsius) parts.push_back({std::to_string(*r.temperature_celsius) + " C", 0});
  }
  while (!parts.empty() && width_of(parts) > static_cast<std::size_t>(std::max(columns, 0)))
    // the last of the lowest rank
    parts.erase(
        std::prev(std::ranges::min_element(parts.rbegin(), parts.rend(), {}, &Part::rank).base()));
  std::string line;
  for (const Part& part : parts) line += (line.empty() ? "" : " | ") + part.text;
  return line;
}

}  // namespace trainx::metrics
