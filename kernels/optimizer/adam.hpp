#pragma once
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct AdamSettings {
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  ScaleSettings scale;
};

/// In-place Adam (Kingma & Ba 2015, arXiv:1412.6980) over all ranges, in fp32 in the order of
/// operations of torch.optim.Adam: weight decay is added to the gradient. States are exp_avg and
/// exp_avg_sq. Otherwise as adamw.
void adam_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const AdamSettings& settings);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t adam(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                 const AdamSettings& settings, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
