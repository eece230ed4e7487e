#include "kernels/optimizer/adamw_anyprecision_rules.hpp"
#include "kernels/optimizer/update_reference.hpp"

namespace trainx::kernels {

void adamw_anyprecision_reference(const UpdateTable& table, WeightKind kind,
                                  const UpdateScalars& scalars,
                                  const AnyPrecisionSettings& settings) {
  if (settings.kahan)
    with_any_precision<true>(settings, [&](auto rule) {
      update_reference<decltype(rule)>(table, WeightKind::bf16, scalars, settings);
    });
  else
    with_any_precision<false>(settings, [&](auto rule) {
      update_reference<decltype(rule)>(table, kind, scalars, settings);
    });
}

}  // namespace trainx::kernels
