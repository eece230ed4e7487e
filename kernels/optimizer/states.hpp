// States of one element as an update rule sees them: floats, whatever they are in memory. A rule's
// `States` is a tuple of their types, in order.
#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#include <tuple>

namespace trainx::kernels {

template <class Rule>
constexpr int state_count = static_cast<int>(std::tuple_size_v<typename Rule::States>);
/// Of an array that is never empty.
template <class Rule>
constexpr int state_capacity = state_count<Rule> > 0 ? state_count<Rule> : 1;
template <class Rule>
using StateIndices = std::make_index_sequence<std::tuple_size_v<typename Rule::States>>;

template <class Rule, std::size_t... k>
TRAINX_HOST_DEVICE void load_states([[maybe_unused]] void* const* from,
                                    [[maybe_unused]] std::int64_t i, [[maybe_unused]] float* to,
                                    std::index_sequence<k...>) {
  ((to[k] =
        widened(static_cast<const std::tuple_element_t<k, typename Rule::States>*>(from[k])[i])),
   ...);
}
template <class Rule, std::size_t... k>
TRAINX_HOST_DEVICE void store_states([[maybe_unused]] void* const* to,
                                     [[maybe_unused]] std::int64_t i,
                                     [[maybe_unused]] const float* from,
                                     std::index_sequence<k...>) {
  (narrow(from[k], static_cast<std::tuple_element_t<k, typename Rule::States>*>(to[k])[i]), ...);
}

}  // namespace trainx::kernels
