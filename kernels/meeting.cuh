// What all thread blocks of a launch find out together while they run.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

/// Numbers that a meeting takes; zero before a launch, and again behind it.
constexpr int meeting_words = 3;

/// The largest number that a block brings, in `most` of each block's first thread; every block
/// must call it, once. Blocks do not wait for ever for those that may begin when others have ended:
/// false where some had not come within milliseconds, and `most` is as it was.
__device__ __forceinline__ bool largest_of_launch(std::uint32_t* words, std::uint32_t& most) {
  constexpr unsigned sleep_ns = 200, most_turns = 50000;
  enum : int { largest, arrived, left };
  __shared__ bool met;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned blocks = gridDim.x * gridDim.y;
    atomicMax(words + largest, most);
    __threadfence();
    atomicAdd(words + arrived, 1u);
    const volatile std::uint32_t* const here = words + arrived;
    unsigned turns = 0;
    while (*here < blocks && turns < most_turns) {
      __nanosleep(sleep_ns);
      ++turns;
    }
    met = turns < most_turns;
    __threadfence();
    if (met) most = __ldcg(words + largest);
    __threadfence();
    if (atomicInc(words + left, blocks - 1) == blocks - 1) words[largest] = words[arrived] = 0;
  }
  __syncthreads();
  return met;
}

}  // namespace trainx::kernels
