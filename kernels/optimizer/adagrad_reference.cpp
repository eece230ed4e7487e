#include "kernels/optimizer/adagrad_element.hpp"
#include "kernels/optimizer/update_reference.hpp"

namespace trainx::kernels {

void adagrad_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                       const AdagradSettings& settings) {
  update_reference<AdagradRule>(table, kind, scalars, settings);
}

}  // namespace trainx::kernels
