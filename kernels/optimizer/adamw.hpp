#pragma once
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct AdamWSettings {
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  ScaleSettings scale;
};

/// In-place AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101, Alg. 2) over all ranges, in fp32 in
/// the order of operations of torch.optim.AdamW; states are exp_avg and exp_avg_sq. Touches nothing
/// when the norm of the scaled gradients is not finite. Pointers need no alignment beyond their
/// element's; 16 bytes (8 for 16-bit elements) are faster. The reference works on host memory and
/// gives the same bits, but for the last one of pow() in the bias corrections.
void adamw_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                     const AdamWSettings& settings);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t adamw(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                  const AdamWSettings& settings, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
