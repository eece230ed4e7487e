// Sums over the thread blocks of one launch, added up by a launch behind it.
#pragma once
#include "kernels/fold.cuh"

namespace trainx::kernels {

/// Adds vectors that the blocks of the launch before have left, `count` of `length4` pieces, one
/// behind the other: `fan` neighbours in order, then these sums. put(i, total) takes piece i.
template <int fan, class Put>
__global__ void __launch_bounds__(32 * fan)
    fold_vectors_kernel(const float4* vectors, int count, int length4, Put put) {
  __shared__ float4 of_groups[fan][32];
  const int lane = static_cast<int>(threadIdx.x) % 32, group = static_cast<int>(threadIdx.x) / 32,
            i = static_cast<int>(blockIdx.x) * 32 + lane, members = count - group * fan;
  of_groups[group][lane] =
      i < length4 && members > 0
          ? add_members<fan>(vectors + static_cast<std::int64_t>(group) * fan * length4, length4,
                             members < fan ? members : fan, i)
          : make_float4(0, 0, 0, 0);
  __syncthreads();
  if (group > 0 || i >= length4) return;
  float4 total = of_groups[0][lane];
#pragma unroll
  for (int g = 1; g < fan; ++g) add4(total, of_groups[g][lane]);
  put(i, total);
}

/// At most `fan` * `fan` vectors. A launch costs less than the fences and the counters by which a
/// block learns that it is the last one (last_to_arrive), and all multiprocessors add.
template <int fan, class Put>
cudaError_t fold_vectors(const float4* vectors, int count, int length4, const Put& put,
                         cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((length4 + 31) / 32);
  fold_vectors_kernel<fan><<<blocks, 32 * fan, 0, stream>>>(vectors, count, length4, put);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
