#include "optim/average.hpp"
#include "kernels/optimizer/average.hpp"
#include "optim/group_update.hpp"

namespace trainx::optim {

void average_weights(const GroupMemory& memory, std::int64_t applied_steps, double decay,
                     float* average) {
  const auto share = static_cast<float>(1 - decay), rest = static_cast<float>(decay);
  with_weights(memory, applied_steps, [&](const auto& weights_at) {
    for_each_chunk(chunks_of(*memory.group), [&](std::size_t, const Chunk& chunk) {
      const auto weights = weights_at(chunk.begin);
      float* const mean = average + chunk.begin;
      for (std::int64_t i = 0; i < chunk.elements; ++i)
        mean[i] = kernels::averaged(mean[i], weights.load(i), share, rest);
    });
  });
}

}  // namespace trainx::optim
