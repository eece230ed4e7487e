#pragma once
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct LionSettings {
  double beta1 = 0, beta2 = 0, weight_decay = 0;
  ScaleSettings scale;
};

/// In-place Lion (Chen et al. 2023, arXiv:2302.06675, Alg. 2) over all ranges, in fp32; the state
/// is exp_avg. Otherwise as adamw; the reference gives the same bits.
void lion_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const LionSettings& settings);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t lion(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                 const LionSettings& settings, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
