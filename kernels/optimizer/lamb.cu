#include "kernels/launch.hpp"
#include "kernels/optimizer/block_sum.cuh"
#include "kernels/optimizer/lamb_element.hpp"
#include "kernels/optimizer/weight_kinds.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = sum_threads;
constexpr int blocks_per_multiprocessor = 8;

__device__ __forceinline__ double square(float x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

template <class Weights, bool moves_states>
__global__ void __launch_bounds__(threads)
    lamb_moments_kernel(UpdateTable table, UpdateScalars scalars, LambSettings settings,
                        LambMemory memory) {
  __shared__ LambStep shared;
  __shared__ double warps[threads / 32];
  if (threadIdx.x == 0) shared = lamb_step(scalars, settings);
  __syncthreads();
  const LambStep step = shared;
  if (!step.finite) return;
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const UpdateRange r = table.ranges[chunk.range];
    const Weights weights(r, scalars);
    float *const m = static_cast<float*>(r.states[0]), *const v = static_cast<float*>(r.states[1]);
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin,
                       end = begin + (left < chunk_elements ? left : chunk_elements);
    double weights2 = 0, directions2 = 0;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
      const float w = weights.load(i);
      float new_m = m[i], new_v = v[i];
      lamb_moments(step, r.gradient[i], new_m, new_v);
      if constexpr (moves_states) {
        m[i] = new_m;
        v[i] = new_v;
      }
      weights2 += square(w);
      directions2 += square(lamb_direction(step, r.decays, w, new_m, new_v));
    }
    weights2 = block_sum(weights2, warps);
    directions2 = block_sum(directions2, warps);
    if (threadIdx.x == 0) {
      memory.partial[2 * c] = weights2;
      memory.partial[2 * c + 1] = directions2;
    }
  }
}

// A block for each range. Of parts of tensors the sums, for other ranks' to be added; or the ratio,
// of parts from the sums of all.
template <bool only_sums>
__global__ void __launch_bounds__(threads) lamb_ratio_kernel(LambMemory memory) {
  __shared__ double warps[threads / 32];
  if (!only_sums && memory.sums) {
    if (threadIdx.x == 0)
      memory.ratios[blockIdx.x] =
          lamb_ratio(memory.sums[blockIdx.x][0], memory.sums[blockIdx.x][1]);
    return;
  }
  const std::int64_t first = memory.first_chunks[blockIdx.x],
                     last = memory.first_chunks[blockIdx.x + 1];
  double weights2 = 0, directions2 = 0;
  for (std::int64_t c = first + threadIdx.x; c < last; c += threads) {
    weights2 += memory.partial[2 * c];
    directions2 += memory.partial[2 * c + 1];
  }
  weights2 = block_sum(weights2, warps);
  directions2 = block_sum(directions2, warps);
  if (threadIdx.x != 0) return;
  if constexpr (only_sums) {
    memory.sums[blockIdx.x][0] = weights2;
    memory.sums[blockIdx.x][1] = directions2;
  } else {
    memory.ratios[blockIdx.x] = lamb_ratio(weights2, directions2);
  }
}

template <class Weights>
__global__ void __launch_bounds__(threads)
    lamb_apply_kernel(UpdateTable table, UpdateScalars scalars, LambSettings settings,
                      LambMemory memory) {
  __shared__ LambStep shared;
  if (threadIdx.x == 0) shared = lamb_step(scalars, settings);
  __syncthreads();
  const LambStep step = shared;
  if (!step.finite) return;
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const UpdateRange r = table.ranges[chunk.range];
    const Weights weights(r, scalars);
    const float *const m = static_cast<const float*>(r.states[0]), *const v =
                                                                       static_cast<const float*>(
                                                                           r.states[1]);
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin,
                       end = begin + (left < chunk_elements ? left : chunk_elements);
    const float minus_step = product(step.minus_lr, memory.ratios[chunk.range]);
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
      const float w = weights.load(i);
      weights.store(i, sum(w, product(minus_step, lamb_direction(step, r.decays, w, m[i], v[i]))));
    }
  }
}

}  // namespace

cudaError_t lamb_measure(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                         const LambSettings& settings, const LambMemory& memory,
                         cudaStream_t stream) {
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  return with_weight_type(kind, [&](auto type) {
    using Weights = typename decltype(type)::Type;
    if (blocks > 0)
      lamb_moments_kernel<Weights, false>
          <<<blocks, threads, 0, stream>>>(table, scalars, settings, memory);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
    // of tensors without a part here too: zero
    lamb_ratio_kernel<true><<<static_cast<unsigned>(memory.ranges), threads, 0, stream>>>(memory);
    return cudaGetLastError();
  });
}

cudaError_t lamb(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                 const LambSettings& settings, const LambMemory& memory, cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  return with_weight_type(kind, [&](auto type) {
    using Weights = typename decltype(type)::Type;
    lamb_moments_kernel<Weights, true>
        <<<blocks, threads, 0, stream>>>(table, scalars, settings, memory);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
    lamb_ratio_kernel<false><<<static_cast<unsigned>(memory.ranges), threads, 0, stream>>>(memory);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
    lamb_apply_kernel<Weights><<<blocks, threads, 0, stream>>>(table, scalars, settings, memory);
    return cudaGetLastError();
  });
}

}  // namespace trainx::kernels
