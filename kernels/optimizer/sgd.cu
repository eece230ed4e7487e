#include "kernels/optimizer/sgd_element.hpp"
#include "kernels/optimizer/update_kernel.cuh"

namespace trainx::kernels {

cudaError_t sgd(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                const SgdSettings& settings, cudaStream_t stream) {
  if (settings.nesterov)
    return launch_update<SgdRule<SgdForm::nesterov>>(table, kind, scalars, settings, stream);
  if (settings.momentum > 0)
    return launch_update<SgdRule<SgdForm::momentum>>(table, kind, scalars, settings, stream);
  return launch_update<SgdRule<SgdForm::plain>>(table, kind, scalars, settings, stream);
}

}  // namespace trainx::kernels
