#include "optim/step_factor.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::optim {

std::optional<float> step_factor(const StepScalars& step) {
  const double norm = std::sqrt(step.norm2) * step.gradient_scale;
  if (!std::isfinite(norm) || !std::isfinite(step.gradient_scale)) return std::nullopt;
  const double clip = step.max_grad_norm > 0 ? std::min(1.0, step.max_grad_norm / (norm + 1e-6))
                                             : 1.0;
  return static_cast<float>(step.gradient_scale * clip);
}

}  // namespace trainx::optim
