// Which of the rules a recipe's choice of types is.
#pragma once
#include "kernels/optimizer/adamw_anyprecision_element.hpp"

namespace trainx::kernels {

/// Calls `use(rule)`.
template <bool kahan, class Use>
auto with_any_precision(const AnyPrecisionSettings& o, Use use) {
  if (o.bf16_momentum)
    return o.bf16_variance ? use(AnyPrecisionRule<Bf16, Bf16, kahan>{})
                           : use(AnyPrecisionRule<Bf16, float, kahan>{});
  return o.bf16_variance ? use(AnyPrecisionRule<float, Bf16, kahan>{})
                         : use(AnyPrecisionRule<float, float, kahan>{});
}

}  // namespace trainx::kernels
