#pragma once
#include "optim/optimizer.hpp"
#include <optional>

namespace trainx::optim {

/// What every gradient is multiplied by: gradient_scale, and max_grad_norm / (norm + 1e-6) where
/// that is below 1, as torch.nn.utils.clip_grad_norm_ does. Nothing where the norm of the scaled
/// gradients is not finite: the step is to leave everything as it is.
std::optional<float> step_factor(const StepScalars& step);

}  // namespace trainx::optim
