#pragma once
#include "core/error.hpp"
#include "optim/chunks.hpp"
#include "optim/group_table.hpp"
#include "optim/weights.hpp"
#include <cstdint>

namespace trainx::optim {

/// Calls `run(weights_at)` with the kind of weights that the group has; weights_at(i) begins at
/// element i.
template <class Run>
void with_weights(const GroupMemory& memory, std::int64_t applied_steps, const Run& run) {
  weight_kind(memory);  // throws where the master does not belong to the parameters
  const bool bf16 = memory.parameter_dtype == DType::bf16;
  auto* half = static_cast<std::uint16_t*>(memory.parameter);
  switch (memory.master_kind) {
    case program::Master::absent:
      if (memory.rounding_seed)
        return run([=, seed = *memory.rounding_seed, group = memory.index,
                    first = memory.first](std::int64_t at) {
          return StochasticWeights{half + at, {seed, group, first + at}, applied_steps};
        });
      if (bf16) return run([=](std::int64_t at) { return Bf16Weights{half + at}; });
      return run([exact = static_cast<float*>(memory.parameter)](std::int64_t at) {
        return Fp32Weights{exact + at};
      });
    case program::Master::fp32:
      if (bf16)
        return run([=, exact = static_cast<float*>(memory.master)](std::int64_t at) {
          return MasterWeights{half + at, exact + at};
        });
      return run([fp16 = static_cast<kernels::Fp16*>(memory.parameter),
                  exact = static_cast<float*>(memory.master)](std::int64_t at) {
        return HalfWeights{fp16 + at, exact + at};
      });
    case program::Master::split:
      return run([=, low = static_cast<std::uint16_t*>(memory.master)](std::int64_t at) {
        return SplitWeights{half + at, low + at};
      });
  }
}

/// Calls `run(gradients)` with the group's in their type.
template <class Run>
void with_gradients(const GroupMemory& memory, const Run& run) {
  memory.gradient_dtype == DType::bf16 ? run(static_cast<const kernels::Bf16*>(memory.gradient))
                                       : run(static_cast<const float*>(memory.gradient));
}

inline void require_states(const GroupMemory& memory, std::size_t states) {
  if (!memory.group || memory.states.size() != states)
    throw InternalError("an optimizer that keeps " + std::to_string(states) + " states was given " +
                        std::to_string(memory.states.size()));
}

/// Calls `update(weights, gradient, states, chunk)` for every chunk of the group, pointers at the
/// chunk's first element, of an optimizer that keeps floats.
template <class Update>
void update_group(const GroupMemory& memory, std::int64_t applied_steps, std::size_t states,
                  const Update& update) {
  require_states(memory, states);
  with_weights(memory, applied_steps, [&](const auto& weights_at) {
    with_gradients(memory, [&](const auto* gradients) {
      for_each_chunk(chunks_of(*memory.group), [&](std::size_t, const Chunk& chunk) {
        float* state[4] = {};
        for (std::size_t s = 0; s < states; ++s)
          state[s] = static_cast<float*>(memory.states[s]) + chunk.begin;
        update(weights_at(chunk.begin), gradients + chunk.begin, state, chunk);
      });
    });
  });
}

}  // namespace trainx::optim
