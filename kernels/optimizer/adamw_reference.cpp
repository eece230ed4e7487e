#include "kernels/optimizer/adamw_element.hpp"
#include "kernels/optimizer/update_reference.hpp"

namespace trainx::kernels {

void adamw_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                     const AdamWSettings& settings) {
  update_reference<AdamWRule>(table, kind, scalars, settings);
}

}  // namespace trainx::kernels
