// The sum over a thread block, in the order of lane_sum.hpp.
#pragma once
#include "kernels/optimizer/lane_sum.hpp"

namespace trainx::kernels {

/// Valid in thread 0 of a block of sum_threads. `shared` holds one double per warp and may be used
/// again afterwards.
__device__ __forceinline__ double block_sum(double x, double* shared) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffffu, x, offset);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  double total = 0;
  if (threadIdx.x == 0)
    for (int warp = 0; warp < sum_threads / 32; ++warp) total += shared[warp];
  __syncthreads();
  return total;
}

}  // namespace trainx::kernels
