#pragma once
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct AnyPrecisionSettings {
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  bool bf16_momentum = false, bf16_variance = false;
  bool kahan = false;  // of WeightKind::bf16 alone
  ScaleSettings scale;
};

/// In-place AdamW over all ranges as torchdistx' AnyPrecisionAdamW: exp_avg and exp_avg_sq in fp32
/// or bf16, rounded to nearest even after each of the two operations that update them. With `kahan`
/// a third state, bf16, has what the bf16 weight cannot hold (Kahan 1965): the update and the
/// weight decay go there first, the weight takes what it can of it. Otherwise as adamw.
void adamw_anyprecision_reference(const UpdateTable& table, WeightKind kind,
                                  const UpdateScalars& scalars,
                                  const AnyPrecisionSettings& settings);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t adamw_anyprecision(const UpdateTable& table, WeightKind kind,
                               const UpdateScalars& scalars, const AnyPrecisionSettings& settings,
                               cudaStream_t stream);
#endif

}  // namespace trainx::kernels
