// Logits as a loss sees them, on a CPU.
#pragma once
#include "kernels/loss/loss_form.hpp"
#include <cmath>
#include <cstdint>

namespace trainx::operations {

/// x[n] in place; slopes[n]: their derivatives, null where nobody wants them.
inline void change_row(float* x, float* slopes, std::int64_t n,
                       const kernels::LogitChange& change) {
  const auto by = static_cast<float>(change.scale), most = static_cast<float>(change.soft_cap);
  for (std::int64_t c = 0; c < n; ++c) {
    float slope = by;
    x[c] *= by;
    if (most > 0) {
      const float u = std::tanh(x[c] / most);
      x[c] = most * u;
      slope *= 1 - u * u;
    }
    if (slopes) slopes[c] = slope;
  }
}

}  // namespace trainx::operations
