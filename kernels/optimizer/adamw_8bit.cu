#include "kernels/launch.hpp"
#include "kernels/optimizer/adamw_8bit.hpp"
#include "kernels/optimizer/adamw_element.hpp"
#include "kernels/optimizer/dynamic_map.hpp"
#include "kernels/optimizer/weight_kinds.hpp"
#include "kernels/optimizer/weights4.cuh"
#include <type_traits>

namespace trainx::kernels {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int blocks_per_multiprocessor = 3;
constexpr int elements_per_lane = static_cast<int>(quantised_block) / 32;

__device__ __forceinline__ float warp_max(float x) {
  for (int offset = 16; offset > 0; offset /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}

/// A lane's elements of a block of 256, four neighbours twice: all loads are on their way at once.
template <class Weights>
struct Fours {
  static constexpr int count = elements_per_lane / 4;
  std::int64_t first;
  __device__ Fours(std::int64_t begin, std::int64_t)
      : first(begin + 4 * static_cast<std::int64_t>(threadIdx.x % 32)) {}
  __device__ bool holds(int) const { return true; }
  template <class T>
  __device__ void load(const T* from, T* to) const {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const Four<T> x = load4(from + first + 128 * k);
#pragma unroll
      for (int j = 0; j < 4; ++j) to[4 * k + j] = x.at[j];
    }
  }
  __device__ void load(const Weights& from, float* to) const {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const Four<float> x = load_weights4(from, first + 128 * k);
#pragma unroll
      for (int j = 0; j < 4; ++j) to[4 * k + j] = x.at[j];
    }
  }
  __device__ void store(std::uint8_t* to, const std::uint8_t* from) const {
#pragma unroll
    for (int k = 0; k < count; ++k)
      store4(to + first + 128 * k,
             Four<std::uint8_t>{{from[4 * k], from[4 * k + 1], from[4 * k + 2], from[4 * k + 3]}});
  }
  __device__ void store(const Weights& to, const float* from) const {
#pragma unroll
    for (int k = 0; k < count; ++k)
      store_weights4(to, first + 128 * k,
                     Four<float>{{from[4 * k], from[4 * k + 1], from[4 * k + 2], from[4 * k + 3]}});
  }
};

/// Every 32nd of a block that is not whole, or whose memory is not aligned.
template <class Weights>
struct Singles {
  std::int64_t first, end;
  __device__ Singles(std::int64_t begin, std::int64_t end_)
      : first(begin + static_cast<std::int64_t>(threadIdx.x % 32)), end(end_) {}
  __device__ bool holds(int j) const { return first + 32 * j < end; }
  template <class T>
  __device__ void load(const T* from, T* to) const {
#pragma unroll
    for (int j = 0; j < elements_per_lane; ++j) to[j] = holds(j) ? from[first + 32 * j] : T{};
  }
  __device__ void load(const Weights& from, float* to) const {
#pragma unroll
    for (int j = 0; j < elements_per_lane; ++j) to[j] = holds(j) ? from.load(first + 32 * j) : 0;
  }
  __device__ void store(std::uint8_t* to, const std::uint8_t* from) const {
#pragma unroll
    for (int j = 0; j < elements_per_lane; ++j)
      if (holds(j)) to[first + 32 * j] = from[j];
  }
  __device__ void store(const Weights& to, const float* from) const {
#pragma unroll
    for (int j = 0; j < elements_per_lane; ++j)
      if (holds(j)) to.store(first + 32 * j, from[j]);
  }
};

/// The bits of __fdiv_rn and __fsqrt_rn for numbers that are neither tiny nor huge, without the
/// branches for those, which keep neighbouring elements from being computed side by side.
struct UsualNumbers {
  /// Of one divisor for several numbers.
  struct Divisor {
    float b, reciprocal;
    __device__ __forceinline__ explicit Divisor(float divisor) : b(divisor) {
      float r;
      asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
      reciprocal = __fmaf_rn(r, __fmaf_rn(-b, r, 1.0f), r);
    }
    __device__ __forceinline__ float of(float a) const {
      const float q = __fmul_rn(a, reciprocal);
      return __fmaf_rn(__fmaf_rn(-b, q, a), reciprocal, q);
    }
  };
  static __device__ __forceinline__ float ratio(float a, float b) { return Divisor(b).of(a); }
  static __device__ __forceinline__ float root(float x) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    const float s = __fmul_rn(x, r), root = __fmaf_rn(__fmaf_rn(-s, s, x), __fmul_rn(r, 0.5f), s);
    return x > 0 ? root : 0.0f;
  }
  /// Of moments that are not zero. With these no residual of a ratio or a root is rounded.
  static constexpr float least_m = 0x1p-80f, least_v = 0x1p-100f, most = 0x1p16f;
  /// What is the same for all elements.
  static __device__ bool hold(const AdamWRule::Step& s) {
    const float step_size = fabsf(s.minus_step_size);
    return (step_size == 0 || (step_size >= 0x1p-20f && step_size <= 0x1p20f)) &&
           s.sqrt_correction2 >= 0x1p-10f && s.sqrt_correction2 <= 1 && s.eps >= 0x1p-60f &&
           s.eps <= 1;
  }
};

// A warp takes a block of 256 elements. With UsualNumbers: false, and nothing is written, where the
// block has others.
template <class Numbers, class Lane, class Weights>
__device__ __forceinline__ bool update_block(const UpdateRange& r, const Weights& weights,
                                             std::int64_t begin, std::int64_t end,
                                             const AdamWRule::Step& step,
                                             const DynamicCodes& codes) {
  using S = AdamW8bitState;
  constexpr bool checks = std::is_same_v<Numbers, UsualNumbers>;
  auto *const m_codes = static_cast<std::uint8_t*>(r.states[S::exp_avg_codes]),
              *const v_codes = static_cast<std::uint8_t*>(r.states[S::exp_avg_sq_codes]);
  float *const m_scale = static_cast<float*>(r.states[S::exp_avg_absmax]) + begin / quantised_block,
               *const v_scale = static_cast<float*>(r.states[S::exp_avg_sq_absmax]) +
                                begin / quantised_block;
  const float m_before = *m_scale, v_before = *v_scale;
  const Lane lane(begin, end);
  float g[elements_per_lane], w[elements_per_lane], m[elements_per_lane], v[elements_per_lane];
  std::uint8_t m_code[elements_per_lane], v_code[elements_per_lane];
  lane.load(r.gradient, g);
  lane.load(weights, w);
  lane.load(m_codes, m_code);
  lane.load(v_codes, v_code);
  float m_most = 0, v_most = 0, m_least = 1, v_least = 1;
#pragma unroll
  for (int j = 0; j < elements_per_lane; ++j) {
    m[j] = v[j] = 0;
    if (!lane.holds(j)) continue;
    m[j] = product(codes.of_signed[m_code[j]], m_before);
    v[j] = product(codes.of_unsigned[v_code[j]], v_before);
    AdamWRule::element<Numbers>(step, r.decays, g[j], w[j], m[j], v[j]);
    m_most = fmaxf(m_most, fabsf(m[j]));
    v_most = fmaxf(v_most, v[j]);
    if constexpr (checks) {
      m_least = fminf(m_least, m[j] == 0 ? 1 : fabsf(m[j]));
      v_least = fminf(v_least, v[j] == 0 ? 1 : v[j]);
    }
  }
  m_most = warp_max(m_most);
  v_most = warp_max(v_most);
  if constexpr (checks)
    if (!__all_sync(0xffffffffu, m_least >= Numbers::least_m && v_least >= Numbers::least_v &&
                                     m_most <= Numbers::most && v_most <= Numbers::most))
      return false;
  lane.store(weights, w);
  // where all are zero, 0 / 1
  const typename Numbers::Divisor by_m{m_most > 0 ? m_most : 1}, by_v{v_most > 0 ? v_most : 1};
#pragma unroll
  for (int j = 0; j < elements_per_lane; ++j) {
    m_code[j] = codes.of(by_m.of(m[j]));
    v_code[j] = codes.of_square(by_v.of(v[j]));
  }
  lane.store(m_codes, m_code);
  lane.store(v_codes, v_code);
  __syncwarp();  // every lane has read the scales
  if (threadIdx.x % 32 == 0) {
    *m_scale = m_most;
    *v_scale = v_most;
  }
  return true;
}

template <class Weights>
__global__ void __launch_bounds__(threads, 3)
    adamw_8bit_kernel(UpdateTable table, UpdateScalars scalars, AdamW8bitSettings settings,
                      const DynamicCodes* given) {
  __shared__ AdamWRule::Step shared;
  __shared__ DynamicCodes codes;
  if (threadIdx.x == 0) shared = AdamWRule::step(scalars, settings);
  for (std::size_t i = threadIdx.x; i < sizeof codes / sizeof(std::uint32_t); i += threads)
    reinterpret_cast<std::uint32_t*>(&codes)[i] = reinterpret_cast<const std::uint32_t*>(given)[i];
  __syncthreads();
  const AdamWRule::Step step = shared;
  if (!step.finite) return;
  const bool usual = UsualNumbers::hold(step);
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
      const bool aligned =
          weights_aligned4(weights) && aligned4(r.gradient) &&
          aligned4(static_cast<const std::uint8_t*>(r.states[AdamW8bitState::exp_avg_codes])) &&
          aligned4(static_cast<const std::uint8_t*>(r.states[AdamW8bitState::exp_avg_sq_codes]));
      for (std::int64_t at = begin + threadIdx.x / 32 * quantised_block; at < end;
           at += warps * quantised_block) {
        const std::int64_t block_end = at + quantised_block < end ? at + quantised_block : end;
        if (!usual || !aligned || block_end - at < quantised_block ||
            !update_block<UsualNumbers, Fours<Weights>>(r, weights, at, block_end, step, codes))
          update_block<AnyNumbers, Singles<Weights>>(r, weights, at, block_end, step, codes);
      }
    }
  }
}

}  // namespace

cudaError_t adamw_8bit(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                       const AdamW8bitSettings& settings, const DynamicCodes* codes,
                       cudaStream_t stream) {
  if (table.chunk_count == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(table.chunk_count, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  return with_weight_type(kind, [&](auto type) {
    adamw_8bit_kernel<typename decltype(type)::Type>
        <<<blocks, threads, 0, stream>>>(table, scalars, settings, codes);
    return cudaGetLastError();
  });
}

}  // namespace trainx::kernels
