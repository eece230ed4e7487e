#include "kernels/optimizer/adam_element.hpp"
#include "kernels/optimizer/update_reference.hpp"

namespace trainx::kernels {

void adam_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const AdamSettings& settings) {
  update_reference<AdamRule>(table, kind, scalars, settings);
}

}  // namespace trainx::kernels
