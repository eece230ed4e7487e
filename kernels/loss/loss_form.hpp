#pragma once

namespace trainx::kernels {

/// What logits become before a loss sees them: x * scale, and under a soft cap > 0 cap * tanh(x *
/// scale / cap).
struct LogitChange {
  double scale = 1, soft_cap = 0;
  bool any() const { return scale != 1 || soft_cap > 0; }
};

/// A row's loss in training, of logits x over V classes whose exponentials sum to exp(z):
/// z - (1 - smoothing) * x[target] - smoothing * mean(x) + z_loss * z^2. Label smoothing: Szegedy
/// et al. 2015, arXiv:1512.00567; z-loss: PaLM, arXiv:2204.02311.
struct LossForm {
  LogitChange change;
  double smoothing = 0, z_loss = 0;
  bool has_terms() const { return smoothing > 0 || z_loss > 0; }
};

}  // namespace trainx::kernels
