#include "kernels/launch.hpp"
#include "kernels/optimizer/adamw_element.hpp"
#include "kernels/vector4.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

__device__ __forceinline__ bool weights_aligned4(const Fp32Weights& w) { return aligned4(w.exact); }
__device__ __forceinline__ bool weights_aligned4(const Bf16Weights& w) { return aligned4(w.rounded); }
__device__ __forceinline__ bool weights_aligned4(const MasterWeights& w) { return aligned4(w.rounded) && aligned4(w.exact); }
__device__ __forceinline__ bool weights_aligned4(const SplitWeights& w) { return aligned4(w.rounded) && aligned4(w.low); }

__device__ __forceinline__ Four<float> load_weights4(const Fp32Weights& w, std::int64_t i) { return load4(w.exact + i); }
__device__ __forceinline__ Four<float> load_weights4(const MasterWeights& w, std::int64_t i) { return load4(w.exact + i); }
__device__ __forceinline__ Four<float> load_weights4(const Bf16Weights& w, std::int64_t i) {
  const Four<Bf16> high = load4(w.rounded + i);
  return {{widened(high.at[0]), widened(high.at[1]), widened(high.at[2]), widened(high.at[3])}};
}
__device__ __forceinline__ Four<float> load_weights4(const SplitWeights& w, std::int64_t i) {
  const Four<Bf16> high = load4(w.rounded + i);
  const Four<std::uint16_t> low = load4(w.low + i);
  return {{joined(high.at[0], low.at[0]), joined(high.at[1], low.at[1]), joined(high.at[2], low.at[2]), joined(high.at[3], low.at[3])}};
}

__device__ __forceinline__ Four<Bf16> rounded4(const Four<float>& x) {
  return {{nearest_weight(x.at[0]), nearest_weight(x.at[1]), nearest_weight(x.at[2]), nearest_weight(x.at[3])}};
}
__device__ __forceinline__ void store_weights4(const Fp32Weights& w, std::int64_t i, const Four<float>& x) { store4(w.exact + i, x); }
__device__ __forceinline__ void store_weights4(const Bf16Weights& w, std::int64_t i, const Four<float>& x) { store4(w.rounded + i, rounded4(x)); }
__device__ __forceinline__ void store_weights4(const MasterWeights& w, std::int64_t i, const Four<float>& x) {
  store4(w.exact + i, x);
  store4(w.rounded + i, rounded4(x));
}
__device__ __forceinline__ void store_weights4(const SplitWeights& w, std::int64_t i, const Four<float>& x) {
  store4(w.rounded + i, rounded4(x));
  store4(w.low + i, Four<std::uint16_t>{{low_bits(x.at[0]), low_bits(x.at[1]), low_bits(x.at[2]), low_bits(x.at[3])}});
}

template <class Weights>
__global__ void __launch_bounds__(threads) adamw_kernel(AdamWTable table, AdamWScalars scalars, AdamWSettings settings) {
  __shared__ AdamWStep shared;
  if (threadIdx.x == 0) shared = adamw_step(scalars, settings);
  __syncthreads();
  const AdamWStep step = shared;
  if (!step.finite) return;
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const AdamWRange r = table.ranges[chunk.range];
    const Weights weights(r);
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin, end = begin + (left < chunk_elements ? left : chunk_elements);
    std::int64_t rest = begin;          // elements from here on go one by one
    if (weights_aligned4(weights) && aligned4(r.gradient) && aligned4(r.exp_avg) && aligned4(r.exp_avg_sq)) {   // chunks begin at multiples of four
      rest = begin + (end - begin) / 4 * 4;
      for (std::int64_t i = begin + 4 * threadIdx.x; i < rest; i += 4 * threads) {
        const Four<float> g = load4(r.gradient + i);
        Four<float> w = load_weights4(weights, i), m = load4(r.exp_avg + i), v = load4(r.exp_avg_sq + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) adamw_element(step, r.decays, g.at[j], w.at[j], m.at[j], v.at[j]);
        store4(r.exp_avg + i, m);
        store4(r.exp_avg_sq + i, v);
        store_weights4(weights, i, w);
      }
    }
    for (std::int64_t i = rest + threadIdx.x; i < end; i += threads) {
      float w = weights.load(i), m = r.exp_avg[i], v = r.exp_avg_sq[i];
      adamw_element(step, r.decays, r.gradient[i], w, m, v);
      r.exp_avg[i] = m;
      r.exp_avg_sq[i] = v;
      weights.store(i, w);
    }
  }
}

}  // namespace

cudaError_t adamw(const AdamWTable& table, WeightKind kind, const AdamWScalars& scalars, const AdamWSettings& settings, cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks); error != cudaSuccess) return error;
  switch (kind) {
    case WeightKind::fp32: adamw_kernel<Fp32Weights><<<blocks, threads, 0, stream>>>(table, scalars, settings); break;
    case WeightKind::bf16: adamw_kernel<Bf16Weights><<<blocks, threads, 0, stream>>>(table, scalars, settings); break;
    case WeightKind::bf16_with_master: adamw_kernel<MasterWeights><<<blocks, threads, 0, stream>>>(table, scalars, settings); break;
    case WeightKind::bf16_split: adamw_kernel<SplitWeights><<<blocks, threads, 0, stream>>>(table, scalars, settings); break;
  }
  return cudaGetLastError();
}

}  // namespace trainx::kernels
