#include <cmath>
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/launch_by_head.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

namespace {

// One tile of queries against all tiles of keys, with a running maximum and sum per row (arXiv:2205.14135, algorithm 1). Of a tile of scores a thread has
// rows y + 16 i and columns x + 16 j.
template <int Rows, int Width, class T, int Terms>
struct Forward {
  static constexpr int shared_floats = 3 * tiles::Tile<Rows, Width>::floats + tiles::Tile<Rows, Rows>::floats + Rows;

  static __device__ void run(const T* qkv, const std::int32_t* lengths, T* out, float* lse, AttentionShape s) {
    constexpr int n = Rows / 16, weight_stride = tiles::Tile<Rows, Rows>::stride;
    extern __shared__ __align__(16) float shared[];
    float* const queries = shared;
    float* const keys = queries + tiles::Tile<Rows, Width>::floats;
    float* const values = keys + tiles::Tile<Rows, Width>::floats;
    float* const weights = values + tiles::Tile<Rows, Width>::floats;
    float* const row_factor = weights + tiles::Tile<Rows, Rows>::floats;   // [Rows], what the sums so far, and at last the sums, are multiplied by
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const HeadView at(s, lengths);
    const tiles::Part<Rows, Width> part;
    const long first = static_cast<long>(blockIdx.x) * Rows;

    float maximum[n], total[n];
    for (int i = 0; i < n; ++i) {
      maximum[i] = -INFINITY;
      total[i] = 0;
    }
    tiles::Sums<Rows, Width> sums;
    tiles::clear<Rows, Width>(sums);
    tiles::load<Rows, Width>(queries, qkv + at.qkv, first, at.length, at.row, s.head_size);
    const long last_key = first >= at.length ? 0 : s.causal ? min(at.length, first + Rows) : at.length;
    for (long key = 0; key < last_key; key += Rows) {
      __syncthreads();
      tiles::load<Rows, Width>(keys, qkv + at.qkv + at.out_row, key, at.length, at.row, s.head_size);
      tiles::load<Rows, Width>(values, qkv + at.qkv + 2 * at.out_row, key, at.length, at.row, s.head_size);
      __syncthreads();
      tiles::row_products<Terms, Rows, Width>(queries, keys, weights);
      const bool all_seen = at.all_see(s, first, key, Rows);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < n; ++i) {
        float* const row = weights + (y + 16 * i) * weight_stride + x;
        float scores[n], largest = maximum[i];
#pragma unroll
        for (int j = 0; j < n; ++j) {
          scores[j] = all_seen || at.sees(s, first + y + 16 * i, key + x + 16 * j) ? row[16 * j] * s.scale : -INFINITY;
          largest = fmaxf(largest, scores[j]);
        }
        largest = tiles::row_maximum(largest);
        const float rescale = largest == -INFINITY ? 1.0f : expf(maximum[i] - largest);
        float sum = 0;
#pragma unroll
        for (int j = 0; j < n; ++j) {
          const float weight = largest == -INFINITY ? 0.0f : expf(scores[j] - largest);
          row[16 * j] = weight;
          sum += weight;
        }
        total[i] = total[i] * rescale + sum;             // of this thread's columns
        maximum[i] = largest;
        if (x == 0) row_factor[y + 16 * i] = rescale;
      }
      __syncthreads();
#pragma unroll
      for (int c = 0; c < tiles::Part<Rows, Width>::tiles; ++c)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[c][e] *= row_factor[part.row(e / 2)];
      tiles::weighted_rows<Terms, Rows, Width>(weights, values, sums);
    }
    __syncthreads();
    for (int i = 0; i < n; ++i) {
      const long t = first + y + 16 * i;
      total[i] = tiles::row_sum(total[i]);
      if (x != 0 || t >= s.tokens) continue;
      const bool real = t < at.length;
      row_factor[y + 16 * i] = real ? 1.0f / total[i] : 0.0f;
      lse[at.lse + t] = real ? maximum[i] + logf(total[i]) : 0.0f;
    }
    __syncthreads();
    tiles::store<Rows, Width>(
        sums, s.head_size, [&](int r) { return first + r < s.tokens ? out + at.out + (first + r) * at.out_row : nullptr; }, [&](int r) { return row_factor[r]; });
  }
};

}  // namespace

cudaError_t attention_forward(const float* qkv, const std::int32_t* lengths, float* out, float* lse, const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, float>(size, stream, qkv, lengths, out, lse);
}
cudaError_t attention_forward(const Bf16* qkv, const std::int32_t* lengths, Bf16* out, float* lse, const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, Bf16>(size, stream, qkv, lengths, out, lse);
}
cudaError_t attention_forward(const Fp16* qkv, const std::int32_t* lengths, Fp16* out, float* lse, const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, Fp16>(size, stream, qkv, lengths, out, lse);
}

}  // namespace trainx::kernels
