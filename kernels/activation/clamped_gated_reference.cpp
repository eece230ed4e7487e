#include "kernels/activation/clamped_gated.hpp"
#include <cmath>

namespace trainx::kernels {
namespace {

/// Of gate and up in double precision.
struct Gate {
  double gate, up, sigmoid;
  bool gate_passes, up_passes;
};
template <class T>
Gate gate_of(const GateLimits& l, const T* pair) {
  const double limit = static_cast<double>(l.limit), gate = static_cast<double>(widened(pair[0])),
               up = static_cast<double>(widened(pair[1]));
  Gate g{gate > limit ? limit : gate,
         up > limit    ? limit
         : up < -limit ? -limit
                       : up,
         0, gate <= limit, up >= -limit && up <= limit};
  g.sigmoid = 1 / (1 + std::exp(-static_cast<double>(l.alpha) * g.gate));
  return g;
}

}  // namespace

template <class T>
void clamped_gated_reference(const ClampedGated<T>& op) {
  for (std::int64_t i = 0; i < op.n; ++i) {
    const Gate g = gate_of(op.limits, op.x + 2 * i);
    narrow(static_cast<float>((g.up + 1) * g.gate * g.sigmoid), op.out[i]);
  }
}

template <class T>
void clamped_gated_backward_reference(const ClampedGatedBackward<T>& op) {
  for (std::int64_t i = 0; i < op.n; ++i) {
    const Gate g = gate_of(op.limits, op.x + 2 * i);
    const double d = static_cast<double>(widened(op.d_out[i])),
                 slope = g.sigmoid *
                         (1 + static_cast<double>(op.limits.alpha) * g.gate * (1 - g.sigmoid));
    narrow(g.gate_passes ? static_cast<float>(d * (g.up + 1) * slope) : 0.0f, op.d_x[2 * i]);
    narrow(g.up_passes ? static_cast<float>(d * g.gate * g.sigmoid) : 0.0f, op.d_x[2 * i + 1]);
  }
}

#define TRAINX_CLAMPED_GATED(T)                                  \
  template void clamped_gated_reference(const ClampedGated<T>&); \
  template void clamped_gated_backward_reference(const ClampedGatedBackward<T>&);
TRAINX_CLAMPED_GATED(float)
TRAINX_CLAMPED_GATED(Bf16)
TRAINX_CLAMPED_GATED(Fp16)
#undef TRAINX_CLAMPED_GATED

}  // namespace trainx::kernels
