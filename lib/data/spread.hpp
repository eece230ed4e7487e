#pragma once
#include "data/counter_random.hpp"
#include <cstdint>

namespace trainx::data {

/// `count` of the numbers below `samples`, ascending and evenly spread: one of each of `count`
/// equal parts, drawn by key. With count == samples all of them. 1 <= count <= samples.
class Spread {
 public:
  Spread(std::int64_t samples, std::int64_t count, std::uint64_t key)
      : samples_(samples), count_(count), key_(key) {}
  std::int64_t count() const { return count_; }
  std::int64_t operator[](std::int64_t i) const {
    const std::int64_t begin = part_begin(i), size = part_begin(i + 1) - begin;
    CounterRandom random(key_, 0, static_cast<std::uint64_t>(i));
    return begin + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size)));
  }

 private:
  std::int64_t part_begin(std::int64_t i) const {
    return static_cast<std::int64_t>(static_cast<__int128>(i) * samples_ / count_);
  }
  std::int64_t samples_, count_;
  std::uint64_t key_;
};

}  // namespace trainx::data
