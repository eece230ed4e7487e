#include "kernels/attention/cached_attention.hpp"
#include <cmath>
#include "kernels/attention/attention.hpp"

namespace trainx::kernels {
namespace {

constexpr float log2_of_e = 1.44269504f;
constexpr int lanes = 32;
// of a block: a token by token decoder has one row for each head, and the keys alone to share out
constexpr int warps = 32;
// keys whose elements a warp asks memory for at once
constexpr int together = 4;
constexpr int most_per_lane = static_cast<int>(largest_attention_head) / lanes;

/// Softmax so far of some keys of a row: exponentials, to the base 2, count from `maximum`.
template <int PerLane>
struct Partial {
  float maximum = -INFINITY, total = 0, sums[PerLane] = {};

  __device__ void add(const Partial& other) {
    const float largest = fmaxf(maximum, other.maximum);
    if (largest == -INFINITY) return;  // neither has met a key
    const float mine = exp2f(maximum - largest), theirs = exp2f(other.maximum - largest);
    total = total * mine + other.total * theirs;
#pragma unroll
    for (int e = 0; e < PerLane; ++e) sums[e] = sums[e] * mine + other.sums[e] * theirs;
    maximum = largest;
  }
};

__device__ float sum_of_warp(float x) {
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffff, x, step);
  return x;
}

// Block (row, head): its warps take the keys in turns, each lane every 32nd element of a head.
template <int PerLane, class T>
__global__ void __launch_bounds__(warps* lanes)
    cached_attention_kernel(const T* qkv, T* out, long past, int heads, int head_size, int group,
                            long window, float scale, float cap, ScoreBiases biases) {
  __shared__ float shared[warps][2 + PerLane][lanes];
  const int lane = static_cast<int>(threadIdx.x) % lanes,
            warp = static_cast<int>(threadIdx.x) / lanes;
  const long width = static_cast<long>(heads) * head_size,
             key_width = static_cast<long>(heads / group) * head_size,
             pitch = width + 2 * key_width, row = past + blockIdx.x, seen = row + 1,
             unseen = window > 0 && window < seen ? seen - window : 0,
             head = static_cast<long>(blockIdx.y) * head_size,
             key_head = static_cast<long>(blockIdx.y / group) * head_size;
  // of a key's distance; to the base 2 as scores are
  const float* const of_head =
      biases.by_distance ? biases.by_distance + blockIdx.y * biases.distances : nullptr;
  // of part 0: queries, 1: keys, 2: values
  const auto element = [&](long of_row, int part, int e) {
    const int d = lane + e * lanes;
    const long at = part == 0 ? head : width + (part - 1) * key_width + key_head;
    return d < head_size ? widened(qkv[of_row * pitch + at + d]) : 0.0f;
  };
  float query[PerLane];
#pragma unroll
  for (int e = 0; e < PerLane; ++e) query[e] = element(row, 0, e) * scale;

  Partial<PerLane> mine;
  for (long key = unseen + warp * together; key < seen; key += warps * together) {
    const int count = static_cast<int>(seen - key < together ? seen - key : together);
    Partial<PerLane> group;
    float scores[together];
#pragma unroll
    for (int k = 0; k < together; ++k) {
      float product = 0;
#pragma unroll
      for (int e = 0; e < PerLane; ++e)
        product += k < count ? query[e] * element(key + k, 1, e) : 0.0f;
      float score = sum_of_warp(product);
      if (cap > 0) score = cap * log2_of_e * tanhf(score / cap);
      if (of_head && k < count) score += log2_of_e * of_head[key + k - row - biases.lowest];
      scores[k] = k < count ? score : -INFINITY;
      group.maximum = fmaxf(group.maximum, scores[k]);
    }
#pragma unroll
    for (int k = 0; k < together; ++k) {
      const float weight = exp2f(scores[k] - group.maximum);
      group.total += weight;
#pragma unroll
      for (int e = 0; e < PerLane; ++e)
        group.sums[e] += k < count ? weight * element(key + k, 2, e) : 0.0f;
    }
    mine.add(group);
  }

  shared[warp][0][lane] = mine.maximum;
  shared[warp][1][lane] = mine.total;
#pragma unroll
  for (int e = 0; e < PerLane; ++e) shared[warp][2 + e][lane] = mine.sums[e];
  __syncthreads();
  if (warp > 0) return;
  for (int other = 1; other < warps; ++other) {
    Partial<PerLane> theirs;
    theirs.maximum = shared[other][0][lane];
    theirs.total = shared[other][1][lane];
#pragma unroll
    for (int e = 0; e < PerLane; ++e) theirs.sums[e] = shared[other][2 + e][lane];
    mine.add(theirs);
  }
  if (biases.sinks) {  // a score of a head, without a value
    Partial<PerLane> sink;
    sink.maximum = log2_of_e * biases.sinks[blockIdx.y];
    sink.total = 1;
    mine.add(sink);
  }
#pragma unroll
  for (int e = 0; e < PerLane; ++e)
    if (const int d = lane + e * lanes; d < head_size)
      narrow(mine.sums[e] / mine.total, out[static_cast<long>(blockIdx.x) * width + head + d]);
}

template <int PerLane, class T>
cudaError_t launch(const T* qkv, T* out, const CachedAttentionSize& s, cudaStream_t stream) {
  // exponentials are to the base 2; a cap takes scores before that
  const double base = s.soft_cap > 0 ? 1 : 1.4426950408889634,
               scale = s.scale > 0 ? base * s.scale
                                   : base / std::sqrt(static_cast<double>(s.head_size));
  const std::int64_t group = s.key_value_heads > 0 ? s.heads / s.key_value_heads : 1;
  const dim3 grid(static_cast<unsigned>(s.rows), static_cast<unsigned>(s.heads));
  cached_attention_kernel<PerLane><<<grid, warps * lanes, 0, stream>>>(
      qkv, out, static_cast<long>(s.past), static_cast<int>(s.heads), static_cast<int>(s.head_size),
      static_cast<int>(group), static_cast<long>(s.window), static_cast<float>(scale),
      static_cast<float>(s.soft_cap), s.biases);
  return cudaGetLastError();
}

template <class T>
cudaError_t launch_by_head_size(const T* qkv, T* out, const CachedAttentionSize& s,
                                cudaStream_t stream) {
  if (s.rows == 0 || s.heads == 0) return cudaSuccess;
  if (s.past < 0 || s.rows < 0 || s.head_size < 1 || s.head_size > largest_attention_head ||
      s.heads > 65535 || s.key_value_heads < 0 || s.window < 0 ||
      (s.biases.by_distance && (s.soft_cap > 0 || s.biases.lowest > 1 - s.past - s.rows ||
                                s.biases.distances < 1 - s.biases.lowest)) ||
      s.heads % (s.key_value_heads > 0 ? s.key_value_heads : s.heads) != 0)
    return cudaErrorInvalidValue;
  if (s.head_size <= 2 * lanes) return launch<2>(qkv, out, s, stream);
  if (s.head_size <= 4 * lanes) return launch<4>(qkv, out, s, stream);
  return launch<most_per_lane>(qkv, out, s, stream);
}

}  // namespace

cudaError_t cached_attention(const float* qkv, float* out, const CachedAttentionSize& size,
                             cudaStream_t stream) {
  return launch_by_head_size(qkv, out, size, stream);
}
cudaError_t cached_attention(const Bf16* qkv, Bf16* out, const CachedAttentionSize& size,
                             cudaStream_t stream) {
  return launch_by_head_size(qkv, out, size, stream);
}
cudaError_t cached_attention(const Fp16* qkv, Fp16* out, const CachedAttentionSize& size,
                             cudaStream_t stream) {
  return launch_by_head_size(qkv, out, size, stream);
}

}  // namespace trainx::kernels
