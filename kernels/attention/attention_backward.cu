#include <cmath>
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/launch_by_head.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

namespace {

// delta[b, h, t] = d_out . out: one warp a row.
template <class T>
__global__ void row_deltas(const T* out, const T* d_out, float* delta, long rows, long tokens, int heads, int head_size) {
  const long i = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;      // (b, t, h)
  if (i >= rows) return;
  float sum = 0;
  for (int d = threadIdx.x % 32; d < head_size; d += 32) sum += widened(out[i * head_size + d]) * widened(d_out[i * head_size + d]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lane);
  const long h = i % heads, t = i / heads % tokens, b = i / heads / tokens;
  if (threadIdx.x % 32 == 0) delta[(b * heads + h) * tokens + t] = sum;
}

// Probabilities p = exp(q.k scale - lse) and ds = p (dy.v - delta) scale of a tile of queries (y) and a tile of keys (x).
template <int Rows, int Width>
__device__ void probabilities(const float* queries, const float* keys, const float* values, const float* dy, const float* lse, const float* delta, const HeadView& at,
                              const AttentionShape& s, long first_query, long first_key, float (&p)[Rows / 16][Rows / 16], float (&ds)[Rows / 16][Rows / 16]) {
  constexpr int n = Rows / 16;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  tiles::row_products<Rows, Width>(queries, keys, p);
  tiles::row_products<Rows, Width>(dy, values, ds);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const long t = first_query + y + 16 * i;
    const float row_lse = t < at.length ? lse[at.lse + t] : 0, row_delta = t < at.length ? delta[at.lse + t] : 0;
#pragma unroll
    for (int j = 0; j < n; ++j) {
      const bool seen = at.sees(s, t, first_key + x + 16 * j);
      p[i][j] = seen ? expf(p[i][j] * s.scale - row_lse) : 0.0f;
      ds[i][j] = seen ? p[i][j] * (ds[i][j] - row_delta) * s.scale : 0.0f;
    }
  }
}

// d_queries of one tile of queries: loops over the keys.
template <int Rows, int Width, class T>
struct QueryGradient {
  static constexpr int shared_floats = 4 * tiles::Tile<Rows, Width>::floats + tiles::Tile<Rows, Rows>::floats;

  static __device__ void run(const T* qkv, const std::int32_t* lengths, const float* lse, const T* d_out, T* d_qkv, const float* delta, AttentionShape s) {
    constexpr int n = Rows / 16, floats = tiles::Tile<Rows, Width>::floats, stride = tiles::Tile<Rows, Rows>::stride;
    extern __shared__ __align__(16) float shared[];
    float *const queries = shared, *const keys = queries + floats, *const values = keys + floats, *const dy = values + floats, *const weights = dy + floats;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const HeadView at(s, lengths);
    const long first = static_cast<long>(blockIdx.x) * Rows;
    float4 sums[n][Width / 64];
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < Width / 64; ++c) sums[i][c] = make_float4(0, 0, 0, 0);
    tiles::load<Rows, Width>(queries, qkv + at.qkv, first, at.length, at.row, s.head_size);
    tiles::load<Rows, Width>(dy, d_out + at.out, first, at.length, at.out_row, s.head_size);
    const long last_key = first >= at.length ? 0 : s.causal ? min(at.length, first + Rows) : at.length;
    for (long key = 0; key < last_key; key += Rows) {
      __syncthreads();
      tiles::load<Rows, Width>(keys, qkv + at.qkv + at.out_row, key, at.length, at.row, s.head_size);
      tiles::load<Rows, Width>(values, qkv + at.qkv + 2 * at.out_row, key, at.length, at.row, s.head_size);
      __syncthreads();
      float p[n][n], ds[n][n];
      probabilities<Rows, Width>(queries, keys, values, dy, lse, delta, at, s, first, key, p, ds);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) weights[(y + 16 * i) * stride + x + 16 * j] = ds[i][j];
      __syncthreads();
      tiles::accumulate<Rows, Width>(weights, keys, sums);
    }
    for (int i = 0; i < n; ++i)
      if (const long t = first + y + 16 * i; t < s.tokens) tiles::store_row(d_qkv + at.qkv + t * at.row, sums[i], 1.0f, s.head_size);
  }
};

// d_keys and d_values of one tile of keys: loops over the queries. Transposed weights: rows are keys.
template <int Rows, int Width, class T>
struct KeyValueGradient {
  static constexpr int shared_floats = 4 * tiles::Tile<Rows, Width>::floats + 2 * tiles::Tile<Rows, Rows>::floats;

  static __device__ void run(const T* qkv, const std::int32_t* lengths, const float* lse, const T* d_out, T* d_qkv, const float* delta, AttentionShape s) {
    constexpr int n = Rows / 16, floats = tiles::Tile<Rows, Width>::floats, stride = tiles::Tile<Rows, Rows>::stride;
    extern __shared__ __align__(16) float shared[];
    float *const queries = shared, *const keys = queries + floats, *const values = keys + floats, *const dy = values + floats;
    float *const weights = dy + floats, *const d_scores = weights + tiles::Tile<Rows, Rows>::floats;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const HeadView at(s, lengths);
    const long first = static_cast<long>(blockIdx.x) * Rows;
    float4 d_keys[n][Width / 64], d_values[n][Width / 64];
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < Width / 64; ++c) d_keys[i][c] = d_values[i][c] = make_float4(0, 0, 0, 0);
    tiles::load<Rows, Width>(keys, qkv + at.qkv + at.out_row, first, at.length, at.row, s.head_size);
    tiles::load<Rows, Width>(values, qkv + at.qkv + 2 * at.out_row, first, at.length, at.row, s.head_size);
    const long end = first >= at.length ? 0 : at.length;
    for (long query = s.causal ? first : 0; query < end; query += Rows) {
      __syncthreads();
      tiles::load<Rows, Width>(queries, qkv + at.qkv, query, at.length, at.row, s.head_size);
      tiles::load<Rows, Width>(dy, d_out + at.out, query, at.length, at.out_row, s.head_size);
      __syncthreads();
      float p[n][n], ds[n][n];
      probabilities<Rows, Width>(queries, keys, values, dy, lse, delta, at, s, query, first, p, ds);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          weights[(x + 16 * j) * stride + y + 16 * i] = p[i][j];
          d_scores[(x + 16 * j) * stride + y + 16 * i] = ds[i][j];
        }
      __syncthreads();
      tiles::accumulate<Rows, Width>(weights, dy, d_values);
      tiles::accumulate<Rows, Width>(d_scores, queries, d_keys);
    }
    for (int i = 0; i < n; ++i)
      if (const long t = first + y + 16 * i; t < s.tokens) {
        T* const row = d_qkv + at.qkv + t * at.row;
        tiles::store_row(row + at.out_row, d_keys[i], 1.0f, s.head_size);
        tiles::store_row(row + 2 * at.out_row, d_values[i], 1.0f, s.head_size);
      }
  }
};

template <class T>
cudaError_t backward(const T* qkv, const std::int32_t* lengths, const T* out, const float* lse, const T* d_out, T* d_qkv, float* delta, const AttentionSize& s, cudaStream_t stream) {
  const long rows = s.batch * s.tokens * s.heads;
  if (rows == 0) return cudaSuccess;
  row_deltas<<<static_cast<unsigned>((rows + 7) / 8), 256, 0, stream>>>(out, d_out, delta, rows, s.tokens, static_cast<int>(s.heads), static_cast<int>(s.head_size));
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  const float* const deltas = delta;
  if (const cudaError_t error = launch_by_head<QueryGradient, T>(s, stream, qkv, lengths, lse, d_out, d_qkv, deltas); error != cudaSuccess) return error;
  return launch_by_head<KeyValueGradient, T>(s, stream, qkv, lengths, lse, d_out, d_qkv, deltas);
}

}  // namespace

cudaError_t attention_backward(const float* qkv, const std::int32_t* lengths, const float* out, const float* lse, const float* d_out, float* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, lengths, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t attention_backward(const Bf16* qkv, const std::int32_t* lengths, const Bf16* out, const float* lse, const Bf16* d_out, Bf16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, lengths, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t attention_backward(const Fp16* qkv, const std::int32_t* lengths, const Fp16* out, const float* lse, const Fp16* d_out, Fp16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, lengths, out, lse, d_out, d_qkv, delta, size, stream);
}

}  // namespace trainx::kernels
