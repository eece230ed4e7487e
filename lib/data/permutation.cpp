#include "data/permutation.hpp"
#include "data/counter_random.hpp"
#include <algorithm>
#include <bit>

namespace trainx::data {
namespace {

/// A balanced Feistel network (Luby & Rackoff 1988) on 2 * half_bits bits: a permutation whatever
/// the round function is.
std::uint64_t feistel(std::uint64_t x, int half_bits, std::uint64_t key) {
  // 4 make it pseudorandom in theory; small halves want a few more
  constexpr int rounds = 6;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = x >> half_bits, right = x & mask;
  for (int r = 0; r < rounds; ++r) {
    const std::uint64_t mixed =
        mix64(key ^ mix64(right + (static_cast<std::uint64_t>(r) + 1) * 0x9e3779b97f4a7c15ull)) >>
        32;
    const std::uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

}  // namespace

std::uint64_t permute(std::uint64_t x, std::uint64_t count, std::uint64_t key) {
  // At least 6 bits, so that the halves have something to mix.
  const int half_bits = std::max(3, (static_cast<int>(std::bit_width(count - 1)) + 1) / 2);
  // Cycle walking (Black & Rogaway 2002): a permutation of the larger set, followed until it is
  // back inside, permutes the smaller one.
  do x = feistel(x, half_bits, key);
  while (x >= count);
  return x;
}

}  // namespace trainx::data
