// Four weights at a time.
#pragma once
#include "kernels/optimizer/weights.hpp"
#include "kernels/vector4.cuh"
#include <cstdint>

namespace trainx::kernels {

__device__ __forceinline__ bool weights_aligned4(const Fp32Weights& w) { return aligned4(w.exact); }
__device__ __forceinline__ bool weights_aligned4(const Bf16Weights& w) {
  return aligned4(w.rounded);
}
// four that share their random words
__device__ __forceinline__ bool weights_aligned4(const StochasticWeights& w) {
  return aligned4(w.rounded) && w.key.first % 4 == 0;
}
__device__ __forceinline__ bool weights_aligned4(const MasterWeights& w) {
  return aligned4(w.rounded) && aligned4(w.exact);
}
__device__ __forceinline__ bool weights_aligned4(const HalfWeights& w) {
  return aligned4(w.rounded) && aligned4(w.exact);
}
__device__ __forceinline__ bool weights_aligned4(const SplitWeights& w) {
  return aligned4(w.rounded) && aligned4(w.low);
}

__device__ __forceinline__ Four<float> load_weights4(const Fp32Weights& w, std::int64_t i) {
  return load4(w.exact + i);
}
__device__ __forceinline__ Four<float> load_weights4(const MasterWeights& w, std::int64_t i) {
  return load4(w.exact + i);
}
__device__ __forceinline__ Four<float> load_weights4(const HalfWeights& w, std::int64_t i) {
  return load4(w.exact + i);
}
__device__ __forceinline__ Four<float> widened4(const Four<Bf16>& x) {
  return {{widened(x.at[0]), widened(x.at[1]), widened(x.at[2]), widened(x.at[3])}};
}
__device__ __forceinline__ Four<float> load_weights4(const Bf16Weights& w, std::int64_t i) {
  return widened4(load4(w.rounded + i));
}
__device__ __forceinline__ Four<float> load_weights4(const StochasticWeights& w, std::int64_t i) {
  return widened4(load4(w.rounded + i));
}
__device__ __forceinline__ Four<float> load_weights4(const SplitWeights& w, std::int64_t i) {
  const Four<Bf16> high = load4(w.rounded + i);
  const Four<std::uint16_t> low = load4(w.low + i);
  return {{joined(high.at[0], low.at[0]), joined(high.at[1], low.at[1]),
           joined(high.at[2], low.at[2]), joined(high.at[3], low.at[3])}};
}

__device__ __forceinline__ Four<Bf16> rounded4(const Four<float>& x) {
  return {{nearest_weight(x.at[0]), nearest_weight(x.at[1]), nearest_weight(x.at[2]),
           nearest_weight(x.at[3])}};
}
__device__ __forceinline__ void store_weights4(const Fp32Weights& w, std::int64_t i,
                                               const Four<float>& x) {
  store4(w.exact + i, x);
}
__device__ __forceinline__ void store_weights4(const Bf16Weights& w, std::int64_t i,
                                               const Four<float>& x) {
  store4(w.rounded + i, rounded4(x));
}
__device__ __forceinline__ void store_weights4(const StochasticWeights& w, std::int64_t i,
                                               const Four<float>& x) {
  const FourWords words = rounding_words(w.key, (w.key.first + i) / 4, w.applied_steps);
  Four<Bf16> rounded;
#pragma unroll
  for (int j = 0; j < 4; ++j) rounded.at[j] = stochastic_weight(x.at[j], words.at[j]);
  store4(w.rounded + i, rounded);
}
__device__ __forceinline__ void store_weights4(const MasterWeights& w, std::int64_t i,
                                               const Four<float>& x) {
  store4(w.exact + i, x);
  store4(w.rounded + i, rounded4(x));
}
__device__ __forceinline__ void store_weights4(const HalfWeights& w, std::int64_t i,
                                               const Four<float>& x) {
  store4(w.exact + i, x);
  Four<Fp16> rounded;
#pragma unroll
  for (int j = 0; j < 4; ++j) narrow(x.at[j], rounded.at[j]);
  store4(w.rounded + i, rounded);
}
__device__ __forceinline__ void store_weights4(const SplitWeights& w, std::int64_t i,
                                               const Four<float>& x) {
  store4(w.rounded + i, rounded4(x));
  store4(w.low + i, Four<std::uint16_t>{{low_bits(x.at[0]), low_bits(x.at[1]), low_bits(x.at[2]),
                                         low_bits(x.at[3])}});
}

}  // namespace trainx::kernels
