#pragma once
#include <array>
#include <cstdint>

namespace trainx::tensor {

/// Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): 128 random
/// bits of a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// Names a stream of random numbers: the run's seed, a block and a site in it. Counters are (sample
/// position, element / 4), so that the numbers of a sample depend neither on the cut of the batch
/// nor on the rank.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t block = 0, site = 0;
};

}  // namespace trainx::tensor
