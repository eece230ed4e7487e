#pragma once
#include <cstdint>

namespace trainx::data {

/// Finalizer of SplitMix64 (Steele, Lea & Flood 2014): a bijection of 64 bits in which every input
/// bit changes half of the output bits.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Random numbers that are a function of (seed, stream, index, how many were drawn): any sample can
/// be had without those before it.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
      : key_(mix64(mix64(mix64(seed + golden) + stream * golden + 1) + index * golden + 2)) {}
  std::uint64_t next() { return mix64(key_ + golden * ++counter_); }
  // in [0, n), by Lemire 2019 without the rejection: n is far below 2^64
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)

 private:
  // 2^64 / golden ratio: the increment of SplitMix64
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ull;
  std::uint64_t key_, counter_ = 0;
};

}  // namespace trainx::data
