#include "optim/adamw_anyprecision.hpp"
#include "kernels/optimizer/adamw_anyprecision_rules.hpp"
#include "optim/rule_update.hpp"

namespace trainx::optim {
namespace {

template <class Momentum, class Variance>
using Plain = kernels::AnyPrecisionRule<Momentum, Variance, false>;
template <class Momentum, class Variance>
using Kahan = kernels::AnyPrecisionRule<Momentum, Variance, true>;
using kernels::Bf16;

#define TRAINX_ANY_PRECISION(name, Momentum, Variance) \
  using Plain##name = Plain<Momentum, Variance>;       \
  using Kahan##name = Kahan<Momentum, Variance>;       \
  TRAINX_RULE_CHUNKS(Plain##name)                      \
  TRAINX_RULE_CHUNK(Kahan##name, Bf16Weights)
TRAINX_ANY_PRECISION(Fp32Fp32, float, float)
TRAINX_ANY_PRECISION(Fp32Bf16, float, Bf16)
TRAINX_ANY_PRECISION(Bf16Fp32, Bf16, float)
TRAINX_ANY_PRECISION(Bf16Bf16, Bf16, Bf16)
#undef TRAINX_ANY_PRECISION

class AdamWAnyPrecision final : public Optimizer {
 public:
  explicit AdamWAnyPrecision(const options::AdamWAnyPrecisionOptions& options)
      : settings_(settings_of(options)) {}

  void update(const GroupMemory& memory, const StepScalars& step) const override {
    if (settings_.kahan) {
      if (weight_kind(memory) != kernels::WeightKind::bf16)
        throw InternalError(
            "Kahan summation beside exact weights or stochastic rounding passed the check of the "
            "recipe");
      kernels::with_any_precision<true>(settings_, [&](auto rule) {
        update_by_rule<decltype(rule)>(memory, step, settings_, [](auto weights, auto... of_chunk) {
          if constexpr (std::is_same_v<decltype(weights), Bf16Weights>)
            update_chunk(weights, of_chunk...);
        });
      });
    } else {
      kernels::with_any_precision<false>(settings_, [&](auto rule) {
        update_by_rule<decltype(rule)>(memory, step, settings_,
                                       [](auto... of_chunk) { update_chunk(of_chunk...); });
      });
    }
  }

 private:
  kernels::AnyPrecisionSettings settings_;
};

}  // namespace

kernels::AnyPrecisionSettings settings_of(const options::AdamWAnyPrecisionOptions& o) {
  using options::StateDtype;
  return {o.beta1,
          o.beta2,
          o.eps,
          o.weight_decay,
          o.momentum_dtype == StateDtype::bf16,
          o.variance_dtype == StateDtype::bf16,
          o.use_kahan_summation,
          {}};
}
std::unique_ptr<Optimizer> make(const options::AdamWAnyPrecisionOptions& options) {
  return std::make_unique<AdamWAnyPrecision>(options);
}

}  // namespace trainx::optim
