#include "kernels/optimizer/lion_element.hpp"
#include "kernels/optimizer/update_reference.hpp"

namespace trainx::kernels {

void lion_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const LionSettings& settings) {
  update_reference<LionRule>(table, kind, scalars, settings);
}

}  // namespace trainx::kernels
