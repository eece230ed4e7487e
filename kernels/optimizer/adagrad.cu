#include "kernels/optimizer/adagrad_element.hpp"
#include "kernels/optimizer/update_kernel.cuh"

namespace trainx::kernels {

cudaError_t adagrad(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const AdagradSettings& settings, cudaStream_t stream) {
  return launch_update<AdagradRule>(table, kind, scalars, settings, stream);
}

}  // namespace trainx::kernels
