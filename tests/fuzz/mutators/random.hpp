#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace trainx::fuzz {

/// SplitMix64: made anew for each mutation at no cost, and the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0 to `end` - 1; 0 where `end` is 0.
  std::size_t below(std::size_t end) {
    return end == 0 ? 0 : static_cast<std::size_t>(next() % end);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  /// One of a container that is not empty.
  template <class Container>
  auto& pick(Container&& from) {
    return from[below(std::size(from))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace trainx::fuzz
