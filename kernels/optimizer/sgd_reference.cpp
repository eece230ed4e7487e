#include "kernels/optimizer/sgd_element.hpp"
#include "kernels/optimizer/update_reference.hpp"

namespace trainx::kernels {

void sgd_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                   const SgdSettings& settings) {
  if (settings.nesterov)
    update_reference<SgdRule<SgdForm::nesterov>>(table, kind, scalars, settings);
  else if (settings.momentum > 0)
    update_reference<SgdRule<SgdForm::momentum>>(table, kind, scalars, settings);
  else
    update_reference<SgdRule<SgdForm::plain>>(table, kind, scalars, settings);
}

}  // namespace trainx::kernels
