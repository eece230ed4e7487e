#include "kernels/launch.hpp"
#include "kernels/optimizer/average.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include "kernels/optimizer/weight_kinds.hpp"
#include "kernels/optimizer/weights4.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, blocks_per_multiprocessor = 8;

template <class Weights>
__global__ void __launch_bounds__(threads)
    average_kernel(UpdateTable table, UpdateScalars scalars, AverageSettings settings) {
  __shared__ bool finite;
  if (threadIdx.x == 0) finite = update_scale(scalars, settings.scale).finite;
  __syncthreads();
  if (!finite) return;
  const auto share = static_cast<float>(1 - settings.decay),
             rest = static_cast<float>(settings.decay);
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const UpdateRange r = table.ranges[chunk.range];
    const Weights weights(r, scalars);
    auto* const mean = static_cast<float*>(r.states[0]);
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin,
                       end = begin + (left < chunk_elements ? left : chunk_elements);
    std::int64_t one_by_one = begin;
    // chunks begin at multiples of four
    if (weights_aligned4(weights) && aligned4(mean)) {
      one_by_one = begin + (end - begin) / 4 * 4;
      for (std::int64_t i = begin + 4 * threadIdx.x; i < one_by_one; i += 4 * threads) {
        const Four<float> w = load_weights4(weights, i);
        Four<float> m = load4(mean + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) m.at[j] = averaged(m.at[j], w.at[j], share, rest);
        store4(mean + i, m);
      }
    }
    for (std::int64_t i = one_by_one + threadIdx.x; i < end; i += threads)
      mean[i] = averaged(mean[i], weights.load(i), share, rest);
  }
}

template <class Weights>
cudaError_t launch(const UpdateTable& table, const UpdateScalars& scalars,
                   const AverageSettings& settings, cudaStream_t stream) {
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  average_kernel<Weights><<<blocks, threads, 0, stream>>>(table, scalars, settings);
  return cudaGetLastError();
}

}  // namespace

cudaError_t average(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                    const AverageSettings& settings, cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  return with_weight_type(kind, [&](auto of) {
    return launch<typename decltype(of)::Type>(table, scalars, settings, stream);
  });
}

}  // namespace trainx::kernels
