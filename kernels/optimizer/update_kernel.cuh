// One launch over all ranges: a block takes a chunk after the other, a thread four elements at a time.
#pragma once
#include "kernels/launch.hpp"
#include "kernels/optimizer/weights4.cuh"

namespace trainx::kernels {

constexpr int update_threads = 256, update_blocks_per_multiprocessor = 8;

template <class Rule, class Weights>
__global__ void __launch_bounds__(update_threads) update_kernel(UpdateTable table, UpdateScalars scalars, typename Rule::Settings settings) {
  constexpr int states = Rule::states;
  using State = float[states > 0 ? states : 1];
  __shared__ typename Rule::Step shared;
  if (threadIdx.x == 0) shared = Rule::step(scalars, settings);
  __syncthreads();
  const typename Rule::Step step = shared;
  if (!step.finite) return;
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const UpdateRange r = table.ranges[chunk.range];
    const Weights weights(r);
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin, end = begin + (left < chunk_elements ? left : chunk_elements);
    std::int64_t rest = begin;          // elements from here on go one by one
    bool aligned = weights_aligned4(weights) && aligned4(r.gradient);
#pragma unroll
    for (int k = 0; k < states; ++k) aligned = aligned && aligned4(r.states[k]);
    if (aligned) {                      // chunks begin at multiples of four
      rest = begin + (end - begin) / 4 * 4;
      for (std::int64_t i = begin + 4 * threadIdx.x; i < rest; i += 4 * update_threads) {
        const Four<float> g = load4(r.gradient + i);
        Four<float> w = load_weights4(weights, i), s[states > 0 ? states : 1];
#pragma unroll
        for (int k = 0; k < states; ++k) s[k] = load4(r.states[k] + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          State state = {};
#pragma unroll
          for (int k = 0; k < states; ++k) state[k] = s[k].at[j];
          Rule::element(step, r.decays, g.at[j], w.at[j], state);
#pragma unroll
          for (int k = 0; k < states; ++k) s[k].at[j] = state[k];
        }
#pragma unroll
        for (int k = 0; k < states; ++k) store4(r.states[k] + i, s[k]);
        store_weights4(weights, i, w);
      }
    }
    for (std::int64_t i = rest + threadIdx.x; i < end; i += update_threads) {
      float w = weights.load(i);
      State state = {};
#pragma unroll
      for (int k = 0; k < states; ++k) state[k] = r.states[k][i];
      Rule::element(step, r.decays, r.gradient[i], w, state);
#pragma unroll
      for (int k = 0; k < states; ++k) r.states[k][i] = state[k];
      weights.store(i, w);
    }
  }
}

template <class Rule>
cudaError_t launch_update(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars, const typename Rule::Settings& settings, cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, update_blocks_per_multiprocessor, blocks); error != cudaSuccess) return error;
  switch (kind) {
    case WeightKind::fp32: update_kernel<Rule, Fp32Weights><<<blocks, update_threads, 0, stream>>>(table, scalars, settings); break;
    case WeightKind::bf16: update_kernel<Rule, Bf16Weights><<<blocks, update_threads, 0, stream>>>(table, scalars, settings); break;
    case WeightKind::bf16_with_master: update_kernel<Rule, MasterWeights><<<blocks, update_threads, 0, stream>>>(table, scalars, settings); break;
    case WeightKind::bf16_split: update_kernel<Rule, SplitWeights><<<blocks, update_threads, 0, stream>>>(table, scalars, settings); break;
  }
  return cudaGetLastError();
}

}  // namespace trainx::kernels
