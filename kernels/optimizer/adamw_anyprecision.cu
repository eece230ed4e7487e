#include "kernels/optimizer/adamw_anyprecision_rules.hpp"
#include "kernels/optimizer/update_kernel.cuh"

namespace trainx::kernels {

cudaError_t adamw_anyprecision(const UpdateTable& table, WeightKind kind,
                               const UpdateScalars& scalars, const AnyPrecisionSettings& settings,
                               cudaStream_t stream) {
  if (!settings.kahan)
    return with_any_precision<false>(settings, [&](auto rule) {
      return launch_update<decltype(rule)>(table, kind, scalars, settings, stream);
    });
  if (kind != WeightKind::bf16) return cudaErrorInvalidValue;
  return with_any_precision<true>(settings, [&](auto rule) {
    return launch_update<decltype(rule), Bf16Weights>(table, scalars, settings, stream);
  });
}

}  // namespace trainx::kernels
