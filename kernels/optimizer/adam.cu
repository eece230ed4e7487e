#include "kernels/optimizer/adam_element.hpp"
#include "kernels/optimizer/update_kernel.cuh"

namespace trainx::kernels {

cudaError_t adam(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                 const AdamSettings& settings, cudaStream_t stream) {
  return launch_update<AdamRule>(table, kind, scalars, settings, stream);
}

}  // namespace trainx::kernels
