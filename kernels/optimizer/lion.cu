#include "kernels/optimizer/lion_element.hpp"
#include "kernels/optimizer/update_kernel.cuh"

namespace trainx::kernels {

cudaError_t lion(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                 const LionSettings& settings, cudaStream_t stream) {
  return launch_update<LionRule>(table, kind, scalars, settings, stream);
}

}  // namespace trainx::kernels
