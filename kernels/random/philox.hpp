#pragma once
#include "kernels/host_device.hpp"
#include <cstdint>

namespace trainx::kernels {

struct FourWords {
  std::uint32_t at[4];
};

/// Philox 4x32 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). From 7 rounds
/// on it passes all tests of BigCrush (table 2); 10 leave a margin.
template <int Rounds = 10>
TRAINX_HOST_DEVICE FourWords philox(FourWords counter, std::uint64_t key) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < Rounds; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter.at[0],
                        b = std::uint64_t{0xCD9E8D57} * counter.at[2];
    counter = {
        {static_cast<std::uint32_t>(b >> 32) ^ counter.at[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ counter.at[3] ^ k1, static_cast<std::uint32_t>(a)}};
    k0 += 0x9E3779B9;  // golden ratio
    k1 += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

}  // namespace trainx::kernels
