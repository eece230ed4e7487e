#include "core/error.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/dispatch_to_ranks/dispatch_to_ranks_backends.hpp"
#include <algorithm>
#include <string>
#include <vector>

namespace trainx::operations {

namespace {

/// The rank of an expert; -1 of no choice.
std::int64_t rank_of(const DispatchToRanks& of, std::int32_t expert) {
  return expert < 0 ? -1 : expert / (of.experts / of.ranks);
}

}  // namespace

void cpu::keep_choices(const DispatchToRanks& of, const Tensor& kept, const Tensor& indices) {
  const TimedWork timed(Work::copy);
  std::vector<std::int64_t> choices(static_cast<std::size_t>(of.ranks));
  const auto* const expert = indices.as<const std::int32_t>();
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    const std::int64_t rank = rank_of(of, expert[i]);
    const bool has_room = rank >= 0 && choices[static_cast<std::size_t>(rank)]++ < of.capacity;
    kept.as<std::int32_t>()[i] = has_room ? expert[i] : -1;
  }
  const std::int64_t most = std::ranges::max(choices);
  if (most > of.capacity && !of.drops)
    throw UserError(ExitCode::out_of_memory,
                    "tokens of a micro-batch chose the experts of one rank " +
                        std::to_string(most) + " times, and there is room for " +
                        std::to_string(of.capacity) +
                        " choices; write a larger parallel.experts_capacity, 0 for any choice, or "
                        "parallel.experts_overflow: drop");
}

void cpu::place_tokens(const DispatchToRanks& of, const Tensor& places, const Tensor& chosen) {
  const TimedWork timed(Work::copy);
  const std::int64_t N = chosen.size(0), k = chosen.size(1), most = places.size(1),
                     slot = of.slot_rows(N);
  const auto* const expert = chosen.as<const std::int32_t>();
  std::vector<std::int64_t> next(static_cast<std::size_t>(of.ranks)), ranks;
  for (std::int64_t r = 0; r < of.ranks; ++r) next[static_cast<std::size_t>(r)] = r * slot;
  std::fill_n(places.as<std::int32_t>(), N * most, -1);
  for (std::int64_t n = 0; n < N; ++n) {
    ranks.clear();
    for (std::int64_t j = n * k; j < (n + 1) * k; ++j) {
      if (expert[j] >= of.experts)
        throw InternalError("dispatch_to_ranks: " + std::to_string(expert[j]) + " is none of " +
                            std::to_string(of.experts) + " experts");
      if (expert[j] >= 0) ranks.push_back(rank_of(of, expert[j]));
    }
    std::ranges::sort(ranks);
    const auto repeated = std::ranges::unique(ranks);
    ranks.erase(repeated.begin(), repeated.end());
    for (std::size_t i = 0; i < ranks.size(); ++i)
      places.as<std::int32_t>()[n * most + static_cast<std::int64_t>(i)] =
          static_cast<std::int32_t>(next[static_cast<std::size_t>(ranks[i])]++);
  }
}

void cpu::fill_slots(const DispatchToRanks& of, const SlotChoices& slots, const Tensor& weights,
                     const Tensor& chosen, const Tensor& places) {
  const TimedWork timed(Work::copy);
  const std::int64_t N = chosen.size(0), k = chosen.size(1), most = places.size(1),
                     slot = of.slot_rows(N), each = of.experts / of.ranks;
  const auto* const expert = chosen.as<const std::int32_t>();
  if (slots.owners.defined())
    std::fill_n(slots.owners.as<std::int32_t>(), slots.owners.numel(), -1);
  for (std::int64_t p = 0; p < N * most; ++p) {
    const std::int64_t n = p / most, row = places.as<const std::int32_t>()[p];
    for (std::int64_t j = 0; row >= 0 && j < k; ++j) {
      const bool is_here = rank_of(of, expert[n * k + j]) == row / slot;
      if (slots.owners.defined() && is_here)
        slots.owners.as<std::int32_t>()[row * k + j] =
            static_cast<std::int32_t>(expert[n * k + j] % each);
      if (slots.weights.defined())
        slots.weights.as<float>()[row * k + j] = is_here ? weights.as<const float>()[n * k + j] : 0;
    }
  }
}

void cpu::slot_weights_backward(const DispatchToRanks& of, const Tensor& d_weights,
                                const Tensor& d_slot_weights, const Tensor& indices,
                                const Tensor& places) {
  const TimedWork timed(Work::copy);
  const std::int64_t N = indices.size(0), k = indices.size(1), most = places.size(1),
                     slot = of.slot_rows(N);
  std::fill_n(d_weights.as<float>(), N * k, 0.0F);
  for (std::int64_t p = 0; p < N * most; ++p) {
    const std::int64_t n = p / most, row = places.as<const std::int32_t>()[p];
    for (std::int64_t j = 0; row >= 0 && j < k; ++j)
      if (rank_of(of, indices.as<const std::int32_t>()[n * k + j]) == row / slot)
        d_weights.as<float>()[n * k + j] = d_slot_weights.as<const float>()[row * k + j];
  }
}

}  // namespace trainx::operations
