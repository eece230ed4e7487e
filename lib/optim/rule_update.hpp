// Updates by a rule of kernels/optimizer that the GPU's kernel has as well: the same bits.
#pragma once
#include "kernels/optimizer/states.hpp"
#include "kernels/optimizer/update.hpp"
#include "optim/group_update.hpp"
#include <cstdint>

namespace trainx::optim {

/// The constants of the step, as the rule derives them from the step's scalars on a device.
template <class Rule>
typename Rule::Step rule_step(const StepScalars& s, typename Rule::Settings settings) {
  const double count = 1;
  settings.scale = {s.gradient_scale, s.max_grad_norm};
  return Rule::step({&s.norm2, &count, &s.applied_steps, &s.lr, 1}, settings);
}

template <class Rule, class Weights, class Gradient, std::size_t... k>
TRAINX_OPTIM_INLINE void update_elements(Weights weights, const Gradient* gradient,
                                         void* const* states, const typename Rule::Step& step,
                                         bool decays, std::int64_t n, std::index_sequence<k...>) {
  const typename Rule::Step s = step;
  [[maybe_unused]] const std::tuple at(
      static_cast<std::tuple_element_t<k, typename Rule::States>*>(states[k])...);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    float w = weights.load(i);
    float state[kernels::state_capacity<Rule>] = {kernels::widened(std::get<k>(at)[i])...};
    Rule::element(s, decays, kernels::widened(gradient[i]), w, state);
    (kernels::narrow(state[k], std::get<k>(at)[i]), ...);
    weights.store(i, w);
  }
}

/// Defines update_chunk for a rule and a kind of weights, for each type of gradients and each
/// instruction set.
#define TRAINX_RULE_CHUNK_OF(Rule, Weights, Gradient)                                          \
  TRAINX_OPTIM_CLONES void update_chunk(Weights w, const Gradient* g, void* const* states,     \
                                        const Rule::Step& step, bool decays, std::int64_t n) { \
    update_elements<Rule>(w, g, states, step, decays, n, kernels::StateIndices<Rule>{});       \
  }
#define TRAINX_RULE_CHUNK(Rule, Weights)     \
  TRAINX_RULE_CHUNK_OF(Rule, Weights, float) \
  TRAINX_RULE_CHUNK_OF(Rule, Weights, kernels::Bf16)
#define TRAINX_RULE_CHUNKS(Rule)             \
  TRAINX_RULE_CHUNK(Rule, Fp32Weights)       \
  TRAINX_RULE_CHUNK(Rule, Bf16Weights)       \
  TRAINX_RULE_CHUNK(Rule, StochasticWeights) \
  TRAINX_RULE_CHUNK(Rule, MasterWeights)     \
  TRAINX_RULE_CHUNK(Rule, SplitWeights)      \
  TRAINX_RULE_CHUNK(Rule, HalfWeights)

/// Every chunk of the group; `chunk_update` calls update_chunk.
template <class Rule, class ChunkUpdate>
void update_by_rule(const GroupMemory& memory, const StepScalars& scalars,
                    const typename Rule::Settings& settings, const ChunkUpdate& chunk_update) {
  constexpr int count = kernels::state_count<Rule>;
  require_states(memory, count);
  const auto step = rule_step<Rule>(scalars, settings);
  if (!step.finite) return;
  with_weights(memory, scalars.applied_steps, [&](const auto& weights_at) {
    with_gradients(memory, [&](const auto* gradients) {
      for_each_chunk(chunks_of(*memory.group), [&](std::size_t, const Chunk& chunk) {
        void* states[kernels::state_capacity<Rule>] = {};
        [&]<std::size_t... k>(std::index_sequence<k...>) {
          ((states[k] =
                static_cast<std::tuple_element_t<k, typename Rule::States>*>(memory.states[k]) +
                chunk.begin),
           ...);
        }
        (kernels::StateIndices<Rule>{});
        chunk_update(weights_at(chunk.begin), gradients + chunk.begin, states, step, chunk.decay,
                     chunk.elements);
      });
    });
  });
}

}  // namespace trainx::optim
