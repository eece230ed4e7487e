#pragma once
#include "kernels/host_device.hpp"
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct AverageSettings {
  double decay = 0;
  ScaleSettings scale;
};

/// Exact at both ends, as torch.lerp is. `share`: 1 - `rest`.
TRAINX_HOST_DEVICE float averaged(float mean, float weight, float share, float rest) {
  const float apart = weight - mean;
  return share < 0.5f ? sum(mean, product(share, apart)) : sum(weight, -product(apart, rest));
}

/// Behind an update of the same ranges: their first state, fp32, becomes decay * state + (1 -
/// decay) * the exact weight; where the step was not finite it stays. Gradients are not read. The
/// reference gives the same bits.
void average_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                       const AverageSettings& settings);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t average(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const AverageSettings& settings, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
