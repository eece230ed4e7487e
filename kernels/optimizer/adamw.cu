#include "kernels/optimizer/adamw_element.hpp"
#include "kernels/optimizer/weights4.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

template <class Weights>
__global__ void __launch_bounds__(threads)
    adamw_kernel(UpdateTable table, UpdateScalars scalars, AdamWSettings settings) {
  __shared__ AdamWRule::Step shared;
  const Chunk chunk = table.chunks[blockIdx.x];
  const UpdateRange r = table.ranges[chunk.range];
  if (threadIdx.x == 0) shared = AdamWRule::step(scalars, settings);
  __syncthreads();
  const AdamWRule::Step step = shared;
  if (!step.finite) return;
  const Weights weights(r, scalars);
  float *const exp_avg = static_cast<float*>(r.states[0]), *const exp_avg_sq =
                                                               static_cast<float*>(r.states[1]);
  const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin,
                     end = begin + (left < chunk_elements ? left : chunk_elements);
  std::int64_t rest = begin;  // elements from here on go one by one
  // chunks begin at multiples of four
  if (weights_aligned4(weights) && aligned4(r.gradient) && aligned4(exp_avg) &&
      aligned4(exp_avg_sq)) {
    rest = begin + (end - begin) / 4 * 4;
    for (std::int64_t i = begin + 4 * threadIdx.x; i < rest; i += 4 * threads) {
      const Four<float> g = load4(r.gradient + i);
      Four<float> w = load_weights4(weights, i), m = load4(exp_avg + i), v = load4(exp_avg_sq + i);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        AdamWRule::element(step, r.decays, g.at[j], w.at[j], m.at[j], v.at[j]);
      store4(exp_avg + i, m);
      store4(exp_avg_sq + i, v);
      store_weights4(weights, i, w);
    }
  }
  for (std::int64_t i = rest + threadIdx.x; i < end; i += threads) {
    float w = weights.load(i), m = exp_avg[i], v = exp_avg_sq[i];
    AdamWRule::element(step, r.decays, r.gradient[i], w, m, v);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    weights.store(i, w);
  }
}

}  // namespace

cudaError_t adamw(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                  const AdamWSettings& settings, cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  // One block per chunk: multiprocessors differ in speed, and the first free one takes the next.
  const auto blocks = static_cast<unsigned>(table.chunk_count);
  switch (kind) {
    case WeightKind::fp32:
      adamw_kernel<Fp32Weights><<<blocks, threads, 0, stream>>>(table, scalars, settings);
      break;
    case WeightKind::bf16:
      adamw_kernel<Bf16Weights><<<blocks, threads, 0, stream>>>(table, scalars, settings);
      break;
    case WeightKind::bf16_with_master:
      adamw_kernel<MasterWeights><<<blocks, threads, 0, stream>>>(table, scalars, settings);
      break;
    case WeightKind::bf16_split:
      adamw_kernel<SplitWeights><<<blocks, threads, 0, stream>>>(table, scalars, settings);
      break;
    case WeightKind::fp16_with_master:
      adamw_kernel<HalfWeights><<<blocks, threads, 0, stream>>>(table, scalars, settings);
      break;
    case WeightKind::bf16_stochastic:
      adamw_kernel<StochasticWeights><<<blocks, threads, 0, stream>>>(table, scalars, settings);
      break;
  }
  return cudaGetLastError();
}

}  // namespace trainx::kernels
