// One launch over all ranges: a block takes a chunk after the other, a thread four elements at a
// time.
#pragma once
#include "kernels/launch.hpp"
#include "kernels/optimizer/states.hpp"
#include "kernels/optimizer/weights4.cuh"
#include <cstdint>

namespace trainx::kernels {

constexpr int update_threads = 256, update_blocks_per_multiprocessor = 8;

template <class Rule, std::size_t... k>
__device__ __forceinline__ bool states_aligned4(void* const* states, std::index_sequence<k...>) {
  return (true && ... &&
          aligned4(static_cast<const std::tuple_element_t<k, typename Rule::States>*>(states[k])));
}
template <class T>
__device__ __forceinline__ Four<float> load_state4(const void* state, std::int64_t i) {
  const Four<T> x = load4(static_cast<const T*>(state) + i);
  return {{widened(x.at[0]), widened(x.at[1]), widened(x.at[2]), widened(x.at[3])}};
}
template <class T>
__device__ __forceinline__ void store_state4(void* state, std::int64_t i, const Four<float>& x) {
  Four<T> rounded;
#pragma unroll
  for (int j = 0; j < 4; ++j) narrow(x.at[j], rounded.at[j]);
  store4(static_cast<T*>(state) + i, rounded);
}
template <class Rule, std::size_t... k>
__device__ __forceinline__ void load_states4(void* const* from, std::int64_t i, Four<float>* to,
                                             std::index_sequence<k...>) {
  ((to[k] = load_state4<std::tuple_element_t<k, typename Rule::States>>(from[k], i)), ...);
}
template <class Rule, std::size_t... k>
__device__ __forceinline__ void store_states4(void* const* to, std::int64_t i,
                                              const Four<float>* from, std::index_sequence<k...>) {
  (store_state4<std::tuple_element_t<k, typename Rule::States>>(to[k], i, from[k]), ...);
}

template <class Rule, class Weights>
__global__ void __launch_bounds__(update_threads)
    update_kernel(UpdateTable table, UpdateScalars scalars, typename Rule::Settings settings) {
  constexpr int states = state_count<Rule>;
  constexpr StateIndices<Rule> all{};
  __shared__ typename Rule::Step shared;
  if (threadIdx.x == 0) shared = Rule::step(scalars, settings);
  __syncthreads();
  const typename Rule::Step step = shared;
  if (!step.finite) return;
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const UpdateRange r = table.ranges[chunk.range];
    const Weights weights(r, scalars);
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin,
                       end = begin + (left < chunk_elements ? left : chunk_elements);
    std::int64_t rest = begin;  // elements from here on go one by one
    // chunks begin at multiples of four
    if (weights_aligned4(weights) && aligned4(r.gradient) && states_aligned4<Rule>(r.states, all)) {
      rest = begin + (end - begin) / 4 * 4;
      for (std::int64_t i = begin + 4 * threadIdx.x; i < rest; i += 4 * update_threads) {
        const Four<float> g = load4(r.gradient + i);
        Four<float> w = load_weights4(weights, i), s[state_capacity<Rule>];
        load_states4<Rule>(r.states, i, s, all);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float state[state_capacity<Rule>] = {};
#pragma unroll
          for (int k = 0; k < states; ++k) state[k] = s[k].at[j];
          Rule::element(step, r.decays, g.at[j], w.at[j], state);
#pragma unroll
          for (int k = 0; k < states; ++k) s[k].at[j] = state[k];
        }
        store_states4<Rule>(r.states, i, s, all);
        store_weights4(weights, i, w);
      }
    }
    for (std::int64_t i = rest + threadIdx.x; i < end; i += update_threads) {
      float w = weights.load(i), state[state_capacity<Rule>] = {};
      load_states<Rule>(r.states, i, state, all);
      Rule::element(step, r.decays, r.gradient[i], w, state);
      store_states<Rule>(r.states, i, state, all);
      weights.store(i, w);
    }
  }
}

template <class Rule, class Weights>
cudaError_t launch_update(const UpdateTable& table, const UpdateScalars& scalars,
                          const typename Rule::Settings& settings, cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error =
          blocks_for(table.chunk_count, update_blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  update_kernel<Rule, Weights><<<blocks, update_threads, 0, stream>>>(table, scalars, settings);
  return cudaGetLastError();
}

template <class Rule>
cudaError_t launch_update(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                          const typename Rule::Settings& settings, cudaStream_t stream) {
  switch (kind) {
    case WeightKind::fp32:
      return launch_update<Rule, Fp32Weights>(table, scalars, settings, stream);
    case WeightKind::bf16:
      return launch_update<Rule, Bf16Weights>(table, scalars, settings, stream);
    case WeightKind::bf16_with_master:
      return launch_update<Rule, MasterWeights>(table, scalars, settings, stream);
    case WeightKind::bf16_split:
      return launch_update<Rule, SplitWeights>(table, scalars, settings, stream);
    case WeightKind::fp16_with_master:
      return launch_update<Rule, HalfWeights>(table, scalars, settings, stream);
    case WeightKind::bf16_stochastic:
      return launch_update<Rule, StochasticWeights>(table, scalars, settings, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace trainx::kernels
