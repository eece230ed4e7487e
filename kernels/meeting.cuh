// What all thread blocks of a launch find out together while they run.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

/// Numbers that a meeting takes; zero before a launch, and again behind it, but for the last:
/// blocks that waited in vain are counted there.
constexpr int meeting_words = 4;

/// The largest number that one of the first `bringing` blocks brings, in `most` of each block's
/// first thread; every block must call it, once. So many blocks run at the same time: those behind
/// them may begin when others have ended. No block waits for ever: false where some had not come
/// within milliseconds, and `most` is as it was.
__device__ __forceinline__ bool largest_of_launch(std::uint32_t* words, unsigned bringing,
                                                  std::uint32_t& most) {
  constexpr unsigned sleep_ns = 200, most_turns = 50000;
  enum : int { largest, arrived, left, missed };
  __shared__ bool met;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned blocks = gridDim.x * gridDim.y;
    if (blockIdx.y * gridDim.x + blockIdx.x < bringing) {
      atomicMax(words + largest, most);
      __threadfence();
      atomicAdd(words + arrived, 1u);
    }
    const volatile std::uint32_t* const here = words + arrived;
    unsigned turns = 0;
    while (*here < bringing && turns < most_turns) {
      __nanosleep(sleep_ns);
      ++turns;
    }
    met = turns < most_turns;
    __threadfence();
    met ? most = __ldcg(words + largest) : atomicAdd(words + missed, 1u);
    __threadfence();
    if (atomicInc(words + left, blocks - 1) == blocks - 1) words[largest] = words[arrived] = 0;
  }
  __syncthreads();
  return met;
}

}  // namespace trainx::kernels
