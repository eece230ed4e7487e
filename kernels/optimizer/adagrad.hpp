#pragma once
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct AdagradSettings {
  double lr_decay = 0, eps = 0, weight_decay = 0;
  ScaleSettings scale;
};

/// In-place Adagrad (Duchi et al. 2011) over all ranges, in fp32 in the order of operations of
/// torch.optim.Adagrad; the state is the sum of squared gradients. Otherwise as adamw; the
/// reference gives the same bits.
void adagrad_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                       const AdagradSettings& settings);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t adagrad(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const AdagradSettings& settings, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
