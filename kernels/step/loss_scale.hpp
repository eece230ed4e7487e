// Dynamic loss scaling (Micikevicius et al. 2018, arXiv:1710.03740, section 3.2), as
// torch.amp.GradScaler does it.
#pragma once
#include "kernels/host_device.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct LossScaleSettings {
  double initial = 65536;
  // finite steps after which the scale doubles, up to `largest`; 0: it never changes
  std::int64_t window = 2000;
};
constexpr double largest_loss_scale = 16777216;  // 2^24

/// state: the scale, and the finite steps since it last changed.
TRAINX_HOST_DEVICE void advance_loss_scale(double* state, bool finite,
                                           const LossScaleSettings& settings) {
  if (settings.window == 0) return;
  if (!finite) {
    state[0] /= 2;
    state[1] = 0;
  } else if (++state[1] >= static_cast<double>(settings.window)) {
    if (state[0] < largest_loss_scale) state[0] *= 2;
    state[1] = 0;
  }
}

#if __has_include(<cuda_runtime_api.h>)
/// The same on the device, finite where *norm2 is. Asynchronous on `stream`; one launch of one
/// thread, whose status is returned.
cudaError_t advance_loss_scale(double* state, const double* norm2,
                               const LossScaleSettings& settings, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
