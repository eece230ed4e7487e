#include "metrics/loss_watch.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace trainx::metrics {
namespace {

constexpr std::int64_t mean_over_steps = 50;

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

}  // namespace

std::vector<std::string> LossWatch::news(const Step& s, RunningLoss& running,
                                         const std::function<std::string()>& samples) {
  const std::string at = "step " + std::to_string(s.step) + ": ";
  if (!std::isfinite(s.loss) || !std::isfinite(s.grad_norm)) {
    // the scale is halved and the step skipped: the rule under fp16
    if (std::isfinite(s.loss) && s.scale_adapts) {
      if (told_scale_ || s.loss_scale >= 1) return {};
      told_scale_ = true;
      return {at + "gradients overflow fp16 even at loss scale " + number(s.loss_scale) +
              "; lower optimizer.lr, or train in bf16 (precision: bf16)"};
    }
    if (++non_finite_ > 1) return {};
    return {at + (std::isfinite(s.loss) ? "the gradient is" : "the loss is") + " not finite (" +
            samples() +
            "), and its update is skipped; look at these samples (`trainx data inspect`), or lower "
            "optimizer.lr"};
  }
  if (running.steps >= steps_before && running.mean > 0 && s.loss > far_above * running.mean) {
    const bool begins = !above_;  // while it lasts the mean stays what it was
    above_ = true;
    if (!begins) return {};
    return {at + "the loss is " + number(s.loss) + ", " + number(s.loss / running.mean) +
            " times its running mean of " + number(running.mean) + " (" + samples() +
            "); if it stays there, lower optimizer.lr"};
  }
  above_ = false;
  running.steps = std::min(running.steps + 1, mean_over_steps);
  running.mean += (s.loss - running.mean) / static_cast<double>(running.steps);
  return {};
}

}  // namespace trainx::metrics
