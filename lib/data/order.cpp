#include "data/order.hpp"
#include "core/error.hpp"
#include "data/counter_random.hpp"
#include <algorithm>
#include <bit>
#include <string>

namespace trainx::data {
namespace {

/// A balanced Feistel network (Luby & Rackoff 1988) on 2 * half_bits bits: a permutation whatever the round function is.
std::uint64_t feistel(std::uint64_t x, int half_bits, std::uint64_t key) {
  constexpr int rounds = 6;             // 4 make it pseudorandom in theory; small halves want a few more
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = x >> half_bits, right = x & mask;
  for (int r = 0; r < rounds; ++r) {
    const std::uint64_t mixed = mix64(key ^ mix64(right + (static_cast<std::uint64_t>(r) + 1) * 0x9e3779b97f4a7c15ull)) >> 32;
    const std::uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

}  // namespace

Order::Order(std::int64_t samples, std::uint64_t seed, bool shuffle) : samples_(samples), seed_(seed), shuffle_(shuffle) {
  if (samples < 1) throw InternalError("order of " + std::to_string(samples) + " samples");
}

std::int64_t Order::sample_at(std::int64_t position) const {
  if (position < 0) throw InternalError("order: position " + std::to_string(position));
  const std::int64_t epoch = position / samples_;
  const auto count = static_cast<std::uint64_t>(samples_);
  auto x = static_cast<std::uint64_t>(position % samples_);
  if (!shuffle_) return static_cast<std::int64_t>(x);
  const std::uint64_t key = mix64(mix64(seed_ + 0x9e3779b97f4a7c15ull) + static_cast<std::uint64_t>(epoch));
  // At least 6 bits, so that the halves have something to mix.
  const int half_bits = std::max(3, (static_cast<int>(std::bit_width(count - 1)) + 1) / 2);
  // Cycle walking (Black & Rogaway 2002): a permutation of the larger set, followed until it is back inside, permutes the smaller one.
  do x = feistel(x, half_bits, key);
  while (x >= count);
  return static_cast<std::int64_t>(x);
}

}  // namespace trainx::data
