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

// Turns a score q.k, of a query and a key that see each other, and dy.v into the probability p = exp(q.k scale - lse) and ds = p (dy.v - delta) scale.
__device__ __forceinline__ void differentiate(float& score, float& d_weight, float lse, float delta, float scale) {
  score = expf(score * scale - lse);
  d_weight = score * (d_weight - delta) * scale;
}

// d_queries of one tile of queries: loops over the keys. Of a tile of scores a thread has rows y + 16 i and columns x + 16 j.
template <int Rows, int Width, class T, int Terms>
struct QueryGradient {
  static constexpr int shared_floats = 4 * tiles::Tile<Rows, Width>::floats + 2 * tiles::Tile<Rows, Rows>::floats;

  static __device__ void run(const T* qkv, const std::int32_t* lengths, const float* lse, const T* d_out, T* d_qkv, const float* delta, AttentionShape s) {
    constexpr int n = Rows / 16, floats = tiles::Tile<Rows, Width>::floats, stride = tiles::Tile<Rows, Rows>::stride;
    extern __shared__ __align__(16) float shared[];
    float *const queries = shared, *const keys = queries + floats, *const values = keys + floats, *const dy = values + floats, *const weights = dy + floats;
    float* const d_weights = weights + tiles::Tile<Rows, Rows>::floats;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const HeadView at(s, lengths);
    const long first = static_cast<long>(blockIdx.x) * Rows;
    float row_lse[n], row_delta[n];
    for (int i = 0; i < n; ++i) {
      const long t = first + y + 16 * i;
      row_lse[i] = t < at.length ? lse[at.lse + t] : 0, row_delta[i] = t < at.length ? delta[at.lse + t] : 0;
    }
    tiles::Sums<Rows, Width> sums;
    tiles::clear<Rows, Width>(sums);
    tiles::load<Rows, Width>(queries, qkv + at.qkv, first, at.length, at.row, s.head_size);
    tiles::load<Rows, Width>(dy, d_out + at.out, first, at.length, at.out_row, s.head_size);
    const long last_key = first >= at.length ? 0 : s.causal ? min(at.length, first + Rows) : at.length;
    for (long key = 0; key < last_key; key += Rows) {
      __syncthreads();
      tiles::load<Rows, Width>(keys, qkv + at.qkv + at.out_row, key, at.length, at.row, s.head_size);
      tiles::load<Rows, Width>(values, qkv + at.qkv + 2 * at.out_row, key, at.length, at.row, s.head_size);
      __syncthreads();
      tiles::row_products<Terms, Rows, Width>(queries, keys, weights);
      tiles::row_products<Terms, Rows, Width>(dy, values, d_weights);
      const bool all_seen = at.all_see(s, first, key, Rows);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < n; ++i)
#pragma unroll
        for (int j = 0; j < n; ++j) {
          const int e = (y + 16 * i) * stride + x + 16 * j;
          float p = weights[e], ds = d_weights[e];
          differentiate(p, ds, row_lse[i], row_delta[i], s.scale);
          d_weights[e] = all_seen || at.sees(s, first + y + 16 * i, key + x + 16 * j) ? ds : 0.0f;
        }
      __syncthreads();
      tiles::weighted_rows<Terms, Rows, Width>(d_weights, keys, sums);
    }
    tiles::store<Rows, Width>(
        sums, s.head_size, [&](int r) { return first + r < s.tokens ? d_qkv + at.qkv + (first + r) * at.row : nullptr; }, [](int) { return 1.0f; });
  }
};

// d_keys and d_values of one tile of keys: loops over the queries. Rows of the tiles of scores are keys, columns queries.
template <int Rows, int Width, class T, int Terms>
struct KeyValueGradient {
  static constexpr int shared_floats = 4 * tiles::Tile<Rows, Width>::floats + 2 * tiles::Tile<Rows, Rows>::floats;

  static __device__ void run(const T* qkv, const std::int32_t* lengths, const float* lse, const T* d_out, T* d_qkv, const float* delta, AttentionShape s) {
    constexpr int n = Rows / 16, floats = tiles::Tile<Rows, Width>::floats, stride = tiles::Tile<Rows, Rows>::stride;
    extern __shared__ __align__(16) float shared[];
    float *const queries = shared, *const keys = queries + floats, *const values = keys + floats, *const dy = values + floats, *const weights = dy + floats;
    float* const d_weights = weights + tiles::Tile<Rows, Rows>::floats;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const HeadView at(s, lengths);
    const long first = static_cast<long>(blockIdx.x) * Rows;
    tiles::Sums<Rows, Width> d_keys, d_values;
    tiles::clear<Rows, Width>(d_keys);
    tiles::clear<Rows, Width>(d_values);
    tiles::load<Rows, Width>(keys, qkv + at.qkv + at.out_row, first, at.length, at.row, s.head_size);
    tiles::load<Rows, Width>(values, qkv + at.qkv + 2 * at.out_row, first, at.length, at.row, s.head_size);
    const long end = first >= at.length ? 0 : at.length;
    for (long query = s.causal ? first : 0; query < end; query += Rows) {
      __syncthreads();
      tiles::load<Rows, Width>(queries, qkv + at.qkv, query, at.length, at.row, s.head_size);
      tiles::load<Rows, Width>(dy, d_out + at.out, query, at.length, at.out_row, s.head_size);
      float column_lse[n], column_delta[n];
      for (int j = 0; j < n; ++j) {
        const long t = query + x + 16 * j;
        column_lse[j] = t < at.length ? lse[at.lse + t] : 0, column_delta[j] = t < at.length ? delta[at.lse + t] : 0;
      }
      __syncthreads();
      tiles::row_products<Terms, Rows, Width>(keys, queries, weights);
      tiles::row_products<Terms, Rows, Width>(values, dy, d_weights);
      const bool all_seen = at.all_see(s, query, first, Rows);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < n; ++i)
#pragma unroll
        for (int j = 0; j < n; ++j) {
          const int e = (y + 16 * i) * stride + x + 16 * j;
          const bool seen = all_seen || at.sees(s, query + x + 16 * j, first + y + 16 * i);
          float p = weights[e], ds = d_weights[e];
          differentiate(p, ds, column_lse[j], column_delta[j], s.scale);
          weights[e] = seen ? p : 0.0f;
          d_weights[e] = seen ? ds : 0.0f;
        }
      __syncthreads();
      tiles::weighted_rows<Terms, Rows, Width>(weights, dy, d_values);
      tiles::weighted_rows<Terms, Rows, Width>(d_weights, queries, d_keys);
    }
    const auto row_of = [&](int r) { return first + r < s.tokens ? d_qkv + at.qkv + (first + r) * at.row + at.out_row : nullptr; };
    tiles::store<Rows, Width>(d_keys, s.head_size, row_of, [](int) { return 1.0f; });
    tiles::store<Rows, Width>(d_values, s.head_size, [&](int r) { return first + r < s.tokens ? row_of(r) + at.out_row : nullptr; }, [](int) { return 1.0f; });
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
