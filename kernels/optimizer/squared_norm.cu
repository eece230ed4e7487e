#include "kernels/launch.hpp"
#include "kernels/optimizer/block_sum.cuh"
#include "kernels/optimizer/squared_norm.hpp"
#include "kernels/vector4.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = sum_threads;
constexpr int blocks_per_multiprocessor = 8;

__device__ __forceinline__ double square(float x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

// Which thread adds which elements depends on the chunk alone, not on alignment: four neighbours
// each, in rounds of 4 * threads.
__global__ void __launch_bounds__(threads) partial_sums(NormTable table, double* partial) {
  __shared__ double shared[threads / 32];
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const NormRange r = table.ranges[chunk.range];
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin,
                       n = left < chunk_elements ? left : chunk_elements;
    const float* x = r.data + begin;
    const bool aligned = aligned4(x);
    double total = 0;
    for (std::int64_t i = 4 * threadIdx.x; i < n; i += 4 * threads) {
      if (aligned && i + 4 <= n) {
        const Four<float> four = load4(x + i);
        for (int j = 0; j < 4; ++j) total += square(four.at[j]);
      } else {
        for (std::int64_t j = i; j < i + 4 && j < n; ++j) total += square(x[j]);
      }
    }
    total = block_sum(total, shared);
    if (threadIdx.x == 0) partial[c] = total;
  }
}

__global__ void __launch_bounds__(threads)
    total_of(const double* partial, std::int64_t count, double* norm2, bool add) {
  __shared__ double shared[threads / 32];
  double total = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += threads) total += partial[i];
  total = block_sum(total, shared);
  if (threadIdx.x == 0) *norm2 = add ? *norm2 + total : total;
}

}  // namespace

cudaError_t squared_norm(const NormTable& table, double* partial, double* norm2, bool add,
                         cudaStream_t stream) {
  if (table.chunk_count > 0) {
    unsigned blocks = 0;
    if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks);
        error != cudaSuccess)
      return error;
    partial_sums<<<blocks, threads, 0, stream>>>(table, partial);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  total_of<<<1, threads, 0, stream>>>(partial, table.chunk_count, norm2, add);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
