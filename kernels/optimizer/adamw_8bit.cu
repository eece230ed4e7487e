#include "kernels/launch.hpp"
#include "kernels/optimizer/adamw_8bit.hpp"
#include "kernels/optimizer/adamw_element.hpp"
#include "kernels/optimizer/dynamic_map.hpp"
#include "kernels/optimizer/weight_kinds.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int blocks_per_multiprocessor = 6;
constexpr int elements_per_lane = static_cast<int>(quantised_block) / 32;

/// In shared memory.
struct Maps {
  float of_signed[256], of_unsigned[256];
  CodeStarts signed_starts, unsigned_starts;
};
static_assert(threads == 256, "a thread for each code");

__device__ __forceinline__ float warp_max(float x) {
  for (int offset = 16; offset > 0; offset /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}

// A warp takes a block of 256 elements, each lane every 32nd of them: all loads of a block are on
// their way at once.
template <class Weights>
__device__ __forceinline__ void update_block(const UpdateRange& r, const Weights& weights,
                                             std::int64_t begin, std::int64_t end,
                                             const AdamWRule::Step& step, const Maps& maps) {
  using S = AdamW8bitState;
  auto *const m_codes = static_cast<std::uint8_t*>(r.states[S::exp_avg_codes]),
              *const v_codes = static_cast<std::uint8_t*>(r.states[S::exp_avg_sq_codes]);
  float *const m_scale = static_cast<float*>(r.states[S::exp_avg_absmax]) + begin / quantised_block,
               *const v_scale = static_cast<float*>(r.states[S::exp_avg_sq_absmax]) +
                                begin / quantised_block;
  const float m_before = *m_scale, v_before = *v_scale;
  const std::int64_t first = begin + threadIdx.x % 32;
  float g[elements_per_lane], w[elements_per_lane], m[elements_per_lane], v[elements_per_lane];
#pragma unroll
  for (int j = 0; j < elements_per_lane; ++j) {
    const std::int64_t i = first + 32 * j;
    g[j] = w[j] = m[j] = v[j] = 0;
    if (i >= end) continue;
    g[j] = r.gradient[i];
    w[j] = weights.load(i);
    m[j] = product(maps.of_signed[m_codes[i]], m_before);
    v[j] = product(maps.of_unsigned[v_codes[i]], v_before);
  }
  float m_most = 0, v_most = 0;
#pragma unroll
  for (int j = 0; j < elements_per_lane; ++j) {
    const std::int64_t i = first + 32 * j;
    if (i >= end) continue;
    AdamWRule::element(step, r.decays, g[j], w[j], m[j], v[j]);
    weights.store(i, w[j]);
    m_most = fmaxf(m_most, fabsf(m[j]));
    v_most = fmaxf(v_most, v[j]);
  }
  m_most = warp_max(m_most);
  v_most = warp_max(v_most);
#pragma unroll
  for (int j = 0; j < elements_per_lane; ++j) {
    const std::int64_t i = first + 32 * j;
    if (i >= end) continue;
    m_codes[i] =
        maps.signed_starts.nearest(maps.of_signed, m_most > 0 ? quotient(m[j], m_most) : 0.0f);
    v_codes[i] =
        maps.unsigned_starts.nearest(maps.of_unsigned, v_most > 0 ? quotient(v[j], v_most) : 0.0f);
  }
  __syncwarp();  // every lane has read the scales
  if (threadIdx.x % 32 == 0) {
    *m_scale = m_most;
    *v_scale = v_most;
  }
}

template <class Weights>
__global__ void __launch_bounds__(threads)
    adamw_8bit_kernel(UpdateTable table, UpdateScalars scalars, AdamW8bitSettings settings,
                      DynamicMaps given) {
  __shared__ AdamWRule::Step shared;
  __shared__ Maps maps;
  if (threadIdx.x == 0) shared = AdamWRule::step(scalars, settings);
  maps.of_signed[threadIdx.x] = given.of_signed[threadIdx.x];
  maps.of_unsigned[threadIdx.x] = given.of_unsigned[threadIdx.x];
  __syncthreads();
  maps.signed_starts.fill(maps.of_signed, static_cast<int>(threadIdx.x));
  maps.unsigned_starts.fill(maps.of_unsigned, static_cast<int>(threadIdx.x));
  __syncthreads();
  const AdamWRule::Step step = shared;
  if (!step.finite) return;
  for (std::int64_t c = blockIdx.x; c < table.chunk_count; c += gridDim.x) {
    const Chunk chunk = table.chunks[c];
    const UpdateRange r = table.ranges[chunk.range];
    const Weights weights(r, scalars);
    const std::int64_t begin = chunk.index * chunk_elements, left = r.elements - begin,
                       end = begin + (left < chunk_elements ? left : chunk_elements);
    if (auto* const m = static_cast<float*>(r.states[AdamW8bitState::exp_avg])) {
      auto* const v = static_cast<float*>(r.states[AdamW8bitState::exp_avg_sq]);
      for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
        float w = weights.load(i);
        AdamWRule::element(step, r.decays, r.gradient[i], w, m[i], v[i]);
        weights.store(i, w);
      }
    } else {
      for (std::int64_t at = begin + threadIdx.x / 32 * quantised_block; at < end;
           at += warps * quantised_block)
        update_block(r, weights, at, at + quantised_block < end ? at + quantised_block : end, step,
                     maps);
    }
  }
}

}  // namespace

cudaError_t adamw_8bit(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                       const AdamW8bitSettings& settings, const DynamicMaps& maps,
                       cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  return with_weight_type(kind, [&](auto type) {
    adamw_8bit_kernel<typename decltype(type)::Type>
        <<<blocks, threads, 0, stream>>>(table, scalars, settings, maps);
    return cudaGetLastError();
  });
}

}  // namespace trainx::kernels
