// From a kind of weights that is known at run time to its type.
#pragma once
#include "kernels/optimizer/weights.hpp"

namespace trainx::kernels {

template <class T>
struct TypeOf {
  using Type = T;
};

/// Calls `use(TypeOf<Weights>{})`.
template <class Use>
auto with_weight_type(WeightKind kind, const Use& use) {
  switch (kind) {
    case WeightKind::fp32: return use(TypeOf<Fp32Weights>{});
    case WeightKind::bf16: return use(TypeOf<Bf16Weights>{});
    case WeightKind::bf16_with_master: return use(TypeOf<MasterWeights>{});
    case WeightKind::fp16_with_master: return use(TypeOf<HalfWeights>{});
    case WeightKind::bf16_stochastic: return use(TypeOf<StochasticWeights>{});
    case WeightKind::bf16_split: break;
  }
  return use(TypeOf<SplitWeights>{});
}

}  // namespace trainx::kernels
