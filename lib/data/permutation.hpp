#pragma once
#include <cstdint>

namespace trainx::data {

/// Where x of [0, count) goes under the permutation that belongs to `key`: O(1), count at least 1.
std::uint64_t permute(std::uint64_t x, std::uint64_t count, std::uint64_t key);

}  // namespace trainx::data
