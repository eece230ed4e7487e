// Sums over the thread blocks of one launch: the last block to arrive adds up what all have left in
// memory, always in the same order.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

/// True in the block that is the last of `expected` to call it: it sees what all of them wrote
/// before. The counter is zero again afterwards.
__device__ __forceinline__ bool last_to_arrive(std::uint32_t* counter, std::uint32_t expected) {
  __shared__ bool last;
  // the fence of one thread covers what the barrier has shown it of the others
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(counter, expected - 1) == expected - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

__device__ __forceinline__ void add4(float4& to, const float4& x) {
  to.x += x.x;
  to.y += x.y;
  to.z += x.z;
  to.w += x.w;
}

/// Element i of `members` vectors, at most `most`, that lie `stride` apart, added in order; all of
/// them are on their way at once. Reads around the L1 cache, which does not see other blocks'
/// writes.
template <int most>
__device__ __forceinline__ float4 add_members(const float4* vectors, std::int64_t stride,
                                              int members, std::int64_t i) {
  float4 x[most];
#pragma unroll
  for (int m = 0; m < most; ++m)
    x[m] = m < members ? __ldcg(vectors + m * stride + i) : make_float4(0, 0, 0, 0);
#pragma unroll
  for (int m = 1; m < most; ++m) add4(x[0], x[m]);
  return x[0];
}

}  // namespace trainx::kernels
