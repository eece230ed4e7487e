// Attention backward, whoever sees whom: `Sight` is Lengths or Documents.
#pragma once
#include <cmath>
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/launch_by_head.cuh"
#include "kernels/attention/tiles16.cuh"

namespace trainx::kernels {

// delta[b, h, t] = d_out . out: one warp a row.
template <class T, class Sight>
__global__ void row_deltas(const T* out, const T* d_out, float* delta, Sight sight, long rows, long tokens, int heads, int head_size) {
  const long i = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;      // (b, t, h)
  if (i >= rows) return;
  float sum = 0;
  for (int d = threadIdx.x % 32; d < head_size; d += 32) sum += widened(out[i * head_size + d]) * widened(d_out[i * head_size + d]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lane);
  const long h = i % heads, t = i / heads % tokens, b = i / heads / tokens;
  if (threadIdx.x % 32 == 0) delta[(b * heads + h) * tokens + t] = sum;
  if (h == 0) sight.prepare(b, t, tokens, threadIdx.x % 32);
}

// Turns scores q.k and dy.v into the probabilities p = exp(q.k scale - lse) and ds = p (dy.v - delta) scale; what does not see each other into zeros. `lse` to the base 2.
__device__ __forceinline__ void differentiate(bool sees, float& score, float& d_weight, float lse, float delta, float scale) {
  score = sees ? exp2f(score * (scale * log2_of_e) - lse) : 0.0f;
  d_weight = sees ? score * (d_weight - delta) * scale : 0.0f;
}

template <int Threads, int Slices, int Tiles>
__device__ __forceinline__ void add_slices(float* shared, const tiles::Place& place, float (&sums)[Tiles][4]) {
  tiles::gather_slices<Threads, Slices, 4 * Tiles>(shared, place, [&](int n) { return sums[n / 4][n % 4]; }, [&](auto given) {
#pragma unroll
    for (int n = 0; n < 4 * Tiles; ++n) sums[n / 4][n % 4] += given(n);
  });
}

// d_queries of a tile of queries: loops over the keys.
template <int Width, class T, int Terms, int Slices>
struct QueryGradient {
  using Tile = tiles::Tile<Width>;
  static constexpr int threads = Slices * Tile::threads;
  using Rows = tiles::RowsOf<Width, T>;
  using Stream = tiles::Stream<Width, Width == 128 ? 2 : 1, Slices, T>;     // by 64, blocks side by side hide the way of copies
  static constexpr int shared_bytes = (2 * Tile::block_elements + Stream::elements) * static_cast<int>(sizeof(T)), blocks = Width <= 64 && Slices == 1 ? 4 : 1;

  template <class Sight>
  static __device__ void run(const T* qkv, Sight sight, const float* lse, const T* d_out, T* d_qkv, const float* delta, AttentionShape s) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* const shared = reinterpret_cast<T*>(memory);
    const HeadView at(s);
    const tiles::Place place(Tile::groups);
    const long first = static_cast<long>(blockIdx.x) * tiles::block_rows, warp_first = first + place.first_row;
    const typename Sight::Queries seeing(sight, s, first, place);
    float row_lse[2], row_delta[2];
    for (int half = 0; half < 2; ++half) {
      const long t = first + place.row(half);
      row_lse[half] = t < seeing.end ? lse[at.lse + t] * log2_of_e : 0, row_delta[half] = t < seeing.end ? delta[at.lse + t] : 0;
    }
    tiles::load<tiles::block_rows, Width, threads>(shared, qkv + at.qkv, first, seeing.end, at.row, s.head_size);
    tiles::load<tiles::block_rows, Width, threads>(shared + Tile::block_elements, d_out + at.out, first, seeing.end, at.out_row, s.head_size);
    commit_copies();
    Stream keys_and_values(shared + 2 * Tile::block_elements, qkv + at.qkv + at.out_row, at.row, qkv + at.qkv + 2 * at.out_row, at.row, seeing.keys.from, seeing.keys.end,
                           s.head_size);
    const Rows queries(shared, place), dy(shared + Tile::block_elements, place);
    tiles::Rows16<Tile::columns> sums;
    tiles::clear(sums);
    for (; keys_and_values.more(); keys_and_values.end()) {
      keys_and_values.begin();          // the first time for the rows of the block too, whose copies are older
      const long key = keys_and_values.at(place);
      if (seeing.none(warp_first, key)) continue;
      tiles::Scores scores, d_weights;
      tiles::row_products<Terms, Width>(queries, keys_and_values.first(place), place, scores);
      tiles::row_products<Terms, Width>(dy, keys_and_values.second(place), place, d_weights);
      const bool all_seen = seeing.all(warp_first, key);
#pragma unroll
      for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          differentiate(all_seen || seeing.sees(e / 2, first + place.row(e / 2), key + tiles::streamed_row<T>(place, n, e % 2)), scores[n][e], d_weights[n][e], row_lse[e / 2],
                        row_delta[e / 2], s.scale);
      tiles::weighted_rows<Terms, Width>(d_weights, keys_and_values.first(place) + place.group * Tile::columns, place, sums);
    }
    add_slices<Tile::threads, Slices>(reinterpret_cast<float*>(memory), place, sums);
    if (place.slice > 0) return;
    tiles::store(sums, place, place.group * Tile::columns, s.head_size, [&](int r) { return first + r < s.tokens ? d_qkv + at.qkv + (first + r) * at.row : nullptr; }, {1.0f, 1.0f});
  }
};

// d_keys and d_values of a tile of keys: loops over the queries. Rows of scores are keys, columns queries.
template <int Width, class T, int Terms, int Slices>
struct KeyValueGradient {
  using Tile = tiles::Tile<Width>;
  static constexpr int threads = Slices * Tile::threads;
  using Rows = tiles::RowsOf<Width, T>;
  using Stream = tiles::Stream<Width, Width <= 128 ? 2 : 1, Slices, T>;
  static constexpr int shared_bytes = (2 * Tile::block_elements + Stream::elements) * static_cast<int>(sizeof(T)), blocks = Width <= 64 && Slices == 1 ? 2 : 1;

  template <class Sight>
  static __device__ void run(const T* qkv, Sight sight, const float* lse, const T* d_out, T* d_qkv, const float* delta, AttentionShape s) {
    constexpr int tiles_of_queries = tiles::streamed_rows / 8;
    extern __shared__ __align__(16) unsigned char memory[];
    T* const shared = reinterpret_cast<T*>(memory);
    const HeadView at(s);
    const tiles::Place place(Tile::groups);
    const long first = static_cast<long>(blockIdx.x) * tiles::block_rows, warp_first = first + place.first_row;
    const typename Sight::Keys keys_seen(sight, s, first, place);
    tiles::load<tiles::block_rows, Width, threads>(shared, qkv + at.qkv + at.out_row, first, keys_seen.end, at.row, s.head_size);
    tiles::load<tiles::block_rows, Width, threads>(shared + Tile::block_elements, qkv + at.qkv + 2 * at.out_row, first, keys_seen.end, at.row, s.head_size);
    commit_copies();
    Stream queries_and_dy(shared + 2 * Tile::block_elements, qkv + at.qkv, at.row, d_out + at.out, at.out_row, keys_seen.queries.from, keys_seen.queries.end, s.head_size);
    const Rows keys(shared, place), values(shared + Tile::block_elements, place);
    tiles::Rows16<Tile::columns> d_keys, d_values;
    tiles::clear(d_keys);
    tiles::clear(d_values);
    for (; queries_and_dy.more(); queries_and_dy.end()) {
      const long query = queries_and_dy.at(place);
      float column_lse[tiles_of_queries][2], column_delta[tiles_of_queries][2];
#pragma unroll
      for (int n = 0; n < tiles_of_queries; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const long t = query + tiles::streamed_row<T>(place, n, e);
          column_lse[n][e] = t < keys_seen.queries.end ? lse[at.lse + t] * log2_of_e : 0, column_delta[n][e] = t < keys_seen.queries.end ? delta[at.lse + t] : 0;
        }
      queries_and_dy.begin();
      if (keys_seen.none(warp_first, query)) continue;
      tiles::Scores scores, d_weights;
      tiles::row_products<Terms, Width>(keys, queries_and_dy.first(place), place, scores);
      tiles::row_products<Terms, Width>(values, queries_and_dy.second(place), place, d_weights);
      const bool all_seen = keys_seen.all(warp_first, query);
#pragma unroll
      for (int n = 0; n < tiles_of_queries; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          differentiate(all_seen || keys_seen.seen(e / 2, first + place.row(e / 2), query + tiles::streamed_row<T>(place, n, e % 2)), scores[n][e], d_weights[n][e],
                        column_lse[n][e % 2], column_delta[n][e % 2], s.scale);
      tiles::weighted_rows<Terms, Width>(scores, queries_and_dy.second(place) + place.group * Tile::columns, place, d_values);
      tiles::weighted_rows<Terms, Width>(d_weights, queries_and_dy.first(place) + place.group * Tile::columns, place, d_keys);
    }
    add_slices<Tile::threads, Slices>(reinterpret_cast<float*>(memory), place, d_keys);
    add_slices<Tile::threads, Slices>(reinterpret_cast<float*>(memory), place, d_values);
    if (place.slice > 0) return;
    const auto row_of = [&](int r) { return first + r < s.tokens ? d_qkv + at.qkv + (first + r) * at.row + at.out_row : nullptr; };
    tiles::store(d_keys, place, place.group * Tile::columns, s.head_size, row_of, {1.0f, 1.0f});
    tiles::store(d_values, place, place.group * Tile::columns, s.head_size, [&](int r) { return first + r < s.tokens ? row_of(r) + at.out_row : nullptr; }, {1.0f, 1.0f});
  }
};

template <class T, class Sight>
cudaError_t backward(const T* qkv, Sight sight, const T* out, const float* lse, const T* d_out, T* d_qkv, float* delta, const AttentionSize& s, cudaStream_t stream) {
  const long rows = s.batch * s.tokens * s.heads;
  if (rows == 0) return cudaSuccess;
  row_deltas<<<static_cast<unsigned>((rows + 7) / 8), 256, 0, stream>>>(out, d_out, delta, sight, rows, s.tokens, static_cast<int>(s.heads), static_cast<int>(s.head_size));
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  const float* const deltas = delta;
  if (const cudaError_t error = launch_by_head<QueryGradient, T>(s, stream, qkv, sight, lse, d_out, d_qkv, deltas); error != cudaSuccess) return error;
  return launch_by_head<KeyValueGradient, T>(s, stream, qkv, sight, lse, d_out, d_qkv, deltas);
}

}  // namespace trainx::kernels
