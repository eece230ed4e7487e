#pragma once

namespace trainx::kernels {

/// What logits become before a loss sees them: x * scale, and under a soft cap > 0 cap * tanh(x *
/// scale / cap).
struct LogitChange {
  double scale = 1, soft_cap = 0;
};

}  // namespace trainx::kernels
