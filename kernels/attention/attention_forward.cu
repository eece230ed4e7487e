#include <cmath>
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/launch_by_head.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

namespace {

// One tile of queries against all tiles of keys, with a running maximum and sum per row (arXiv:2205.14135, algorithm 1).
template <int Rows, int Width, class T>
struct Forward {
  static constexpr int shared_floats = 3 * tiles::Tile<Rows, Width>::floats + tiles::Tile<Rows, Rows>::floats;

  static __device__ void run(const T* qkv, const std::int32_t* lengths, T* out, float* lse, AttentionShape s) {
    constexpr int n = Rows / 16, weight_stride = tiles::Tile<Rows, Rows>::stride;
    extern __shared__ __align__(16) float shared[];
    float* const queries = shared;
    float* const keys = queries + tiles::Tile<Rows, Width>::floats;
    float* const values = keys + tiles::Tile<Rows, Width>::floats;
    float* const weights = values + tiles::Tile<Rows, Width>::floats;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const HeadView at(s, lengths);
    const long first = static_cast<long>(blockIdx.x) * Rows;

    float maximum[n], total[n];
    float4 sums[n][Width / 64];
    for (int i = 0; i < n; ++i) {
      maximum[i] = -INFINITY;
      total[i] = 0;
      for (int c = 0; c < Width / 64; ++c) sums[i][c] = make_float4(0, 0, 0, 0);
    }
    tiles::load<Rows, Width>(queries, qkv + at.qkv, first, at.length, at.row, s.head_size);
    const long last_key = first >= at.length ? 0 : s.causal ? min(at.length, first + Rows) : at.length;
    for (long key = 0; key < last_key; key += Rows) {
      __syncthreads();
      tiles::load<Rows, Width>(keys, qkv + at.qkv + at.out_row, key, at.length, at.row, s.head_size);
      tiles::load<Rows, Width>(values, qkv + at.qkv + 2 * at.out_row, key, at.length, at.row, s.head_size);
      __syncthreads();
      float scores[n][n];
      tiles::row_products<Rows, Width>(queries, keys, scores);
#pragma unroll
      for (int i = 0; i < n; ++i) {
        float largest = maximum[i];
        for (int j = 0; j < n; ++j) {
          scores[i][j] = at.sees(s, first + y + 16 * i, key + x + 16 * j) ? scores[i][j] * s.scale : -INFINITY;
          largest = fmaxf(largest, scores[i][j]);
        }
        largest = tiles::row_maximum(largest);
        const float rescale = largest == -INFINITY ? 1.0f : expf(maximum[i] - largest);
        float sum = 0;
        for (int j = 0; j < n; ++j) {
          const float weight = largest == -INFINITY ? 0.0f : expf(scores[i][j] - largest);
          weights[(y + 16 * i) * weight_stride + x + 16 * j] = weight;
          sum += weight;
        }
        total[i] = total[i] * rescale + tiles::row_sum(sum);
        maximum[i] = largest;
        for (int c = 0; c < Width / 64; ++c) sums[i][c] = make_float4(sums[i][c].x * rescale, sums[i][c].y * rescale, sums[i][c].z * rescale, sums[i][c].w * rescale);
      }
      __syncthreads();
      tiles::accumulate<Rows, Width>(weights, values, sums);
    }
    for (int i = 0; i < n; ++i) {
      const long t = first + y + 16 * i;
      if (t >= s.tokens) continue;
      const bool real = t < at.length;
      tiles::store_row(out + at.out + t * at.out_row, sums[i], real ? 1.0f / total[i] : 0.0f, s.head_size);
      if (x == 0) lse[at.lse + t] = real ? maximum[i] + logf(total[i]) : 0.0f;
    }
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
