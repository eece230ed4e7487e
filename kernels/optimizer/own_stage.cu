#include "kernels/launch.hpp"
#include "kernels/optimizer/own_stage.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include "kernels/optimizer/weight_kinds.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, blocks_per_multiprocessor = 8;

__device__ __forceinline__ std::int64_t end_of(const StagedRange& r, std::int64_t begin) {
  const std::int64_t left = r.range.elements - begin;
  return begin + (left < chunk_elements ? left : chunk_elements);
}

template <class Weights>
__global__ void __launch_bounds__(threads)
    own_stage_kernel(StageTable table, UpdateScalars scalars, ScaleSettings settings, OwnStage to) {
  __shared__ UpdateScale scale;
  if (threadIdx.x == 0) {
    scale = update_scale(scalars, settings);
    if (blockIdx.x == 0)
      *to.step = {scale.lr, static_cast<double>(scale.applied_steps + 1), scale.finite};
  }
  __syncthreads();
  const bool finite = scale.finite;
  const float factor = scale.gradient_factor;
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const StagedRange r = table.ranges[chunk.range];
    const Weights weights(r.range, scalars);
    const std::int64_t begin = chunk.index * chunk_elements, end = end_of(r, begin);
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
      to.weights[r.at + i] = weights.load(i);
      to.gradients[r.at + i] = finite ? product(r.range.gradient[i], factor) : 0.0f;
    }
    for (int k = 0; k < to.state_count; ++k) {
      const float* const from = r.states[k];
      float* const state = to.states + k * to.stride + r.at;
      for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) state[i] = from[i];
    }
  }
}

template <class Weights>
__global__ void __launch_bounds__(threads)
    own_unstage_kernel(StageTable table, UpdateScalars scalars, OwnStage from) {
  if (!from.step->finite) return;
  const auto update = static_cast<std::int64_t>(from.step->step);
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const StagedRange r = table.ranges[chunk.range];
    const Weights weights(r.range, scalars);
    const std::int64_t begin = chunk.index * chunk_elements, end = end_of(r, begin);
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
      const float w = from.weights[r.at + i];
      if (!std::isfinite(w)) *from.fault = own_fault(update, 0);
      weights.store(i, w);
    }
    for (int k = 0; k < from.state_count; ++k) {
      const float* const state = from.states + k * from.stride + r.at;
      float* const to = r.states[k];
      for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
        const float x = state[i];
        if (!std::isfinite(x)) *from.fault = own_fault(update, k + 1);
        to[i] = x;
      }
    }
  }
}

template <class Launch>
cudaError_t launch(const StageTable& table, WeightKind kind, const Launch& launch_of) {
  if (table.chunk_count == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  with_weight_type(kind, [&](auto of) {
    launch_of(of, blocks);
    return 0;
  });
  return cudaGetLastError();
}

}  // namespace

cudaError_t own_stage(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                      const ScaleSettings& scale, const OwnStage& to, cudaStream_t stream) {
  return launch(table, kind, [&](auto of, unsigned blocks) {
    own_stage_kernel<typename decltype(of)::Type>
        <<<blocks, threads, 0, stream>>>(table, scalars, scale, to);
  });
}

cudaError_t own_unstage(const StageTable& table, WeightKind kind, const UpdateScalars& scalars,
                        const OwnStage& from, cudaStream_t stream) {
  return launch(table, kind, [&](auto of, unsigned blocks) {
    own_unstage_kernel<typename decltype(of)::Type>
        <<<blocks, threads, 0, stream>>>(table, scalars, from);
  });
}

}  // namespace trainx::kernels
