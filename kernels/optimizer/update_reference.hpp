// The loop of the references over all elements.
#pragma once
#include "kernels/optimizer/states.hpp"
#include "kernels/optimizer/weights.hpp"
#include <algorithm>
#include <cstdint>

namespace trainx::kernels {

template <class Rule, class Weights>
void update_on_host(const UpdateTable& table, const UpdateScalars& scalars,
                    const typename Rule::Step& step) {
  for (std::int64_t c = 0; c < table.chunk_count; ++c) {
    const UpdateRange& r = table.ranges[table.chunks[c].range];
    const Weights weights(r, scalars);
    const std::int64_t begin = table.chunks[c].index * chunk_elements,
                       end = std::min(r.elements, begin + chunk_elements);
    for (std::int64_t i = begin; i < end; ++i) {
      float w = weights.load(i), state[state_capacity<Rule>] = {};
      load_states<Rule>(r.states, i, state, StateIndices<Rule>{});
      Rule::element(step, r.decays, gradient_at(r, i), w, state);
      store_states<Rule>(r.states, i, state, StateIndices<Rule>{});
      weights.store(i, w);
    }
  }
}

template <class Rule>
void update_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                      const typename Rule::Settings& settings) {
  const auto step = Rule::step(scalars, settings);
  if (!step.finite) return;
  switch (kind) {
    case WeightKind::fp32: return update_on_host<Rule, Fp32Weights>(table, scalars, step);
    case WeightKind::bf16: return update_on_host<Rule, Bf16Weights>(table, scalars, step);
    case WeightKind::bf16_with_master:
      return update_on_host<Rule, MasterWeights>(table, scalars, step);
    case WeightKind::bf16_split: return update_on_host<Rule, SplitWeights>(table, scalars, step);
    case WeightKind::fp16_with_master:
      return update_on_host<Rule, HalfWeights>(table, scalars, step);
    case WeightKind::bf16_stochastic:
      return update_on_host<Rule, StochasticWeights>(table, scalars, step);
  }
}

}  // namespace trainx::kernels
