// Sums over the thread blocks of one launch: the last block to arrive adds up what all have left in memory, always in the same order.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

/// True in the block that is the last of `expected` to call it: it sees what all of them wrote before. The counter is zero again afterwards.
__device__ __forceinline__ bool last_to_arrive(std::uint32_t* counter, std::uint32_t expected) {
  __shared__ bool last;
  __threadfence();                      // what this thread wrote is seen by all before the block counts as arrived
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(counter, expected - 1) == expected - 1;
  __syncthreads();
  const bool result = last;
  if (result) __threadfence();
  __syncthreads();                      // `last` may be written again
  return result;
}

__device__ __forceinline__ void add4(float4& to, const float4& x) {
  to.x += x.x;
  to.y += x.y;
  to.z += x.z;
  to.w += x.w;
}

/// Element i of `members` vectors that lie `stride` apart, added in order. Reads around the L1 cache, which does not see other blocks' writes.
__device__ __forceinline__ float4 add_members(const float4* vectors, std::int64_t stride, int members, std::int64_t i) {
  float4 total = make_float4(0, 0, 0, 0);
#pragma unroll 4
  for (int m = 0; m < members; ++m) add4(total, __ldcg(vectors + m * stride + i));
  return total;
}

}  // namespace trainx::kernels
