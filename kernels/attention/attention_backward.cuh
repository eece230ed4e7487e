// Attention backward, whoever sees whom (`Sight`: lengths.cuh).
#pragma once
#include <cmath>
#include "kernels/attention/backward.hpp"
#include "kernels/attention/biased.cuh"
#include "kernels/attention/dropped.cuh"
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/launch_by_head.cuh"
#include "kernels/attention/lengths.cuh"
#include "kernels/attention/soft_cap.cuh"
#include "kernels/attention/tiles16.cuh"

namespace trainx::kernels {

// delta[b, h, t] = d_out . out: one warp a row.
template <class T, class Sight>
__global__ void row_deltas(const T* out, const T* d_out, float* delta, Sight sight, long rows,
                           long tokens, int heads, int head_size) {
  const long i = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;  // (b, t, h)
  if (i >= rows) return;
  float sum = 0;
  for (int d = threadIdx.x % 32; d < head_size; d += 32)
    sum += widened(out[i * head_size + d]) * widened(d_out[i * head_size + d]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lane);
  const long h = i % heads, t = i / heads % tokens, b = i / heads / tokens;
  if (threadIdx.x % 32 == 0) delta[(b * heads + h) * tokens + t] = sum;
  if (h == 0) sight.prepare(b, t, tokens, threadIdx.x % 32);
}

// Calls visit(m, n, i, half, e) for all scores[m][n][i] of a thread: row `half` (tiles::Place),
// column e of n (tiles::streamed_row).
template <int RowTiles, class Visit>
__device__ __forceinline__ void for_each_score(Visit visit) {
#pragma unroll
  for (int m = 0; m < RowTiles; ++m)
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int n = 0; n < tiles::streamed_rows / 8; ++n) visit(m, n, i, 2 * m + i / 2, i % 2);
}

// Hides scores that do not count: those of streamed rows that span_of(half) leaves out.
template <class T, int RowTiles, class SpanOf>
__device__ __forceinline__ void hide(tiles::Scores<RowTiles>& scores,
                                     const tiles::Place<RowTiles>& place, long first_streamed,
                                     SpanOf span_of) {
  Span::OfTile seen[2 * RowTiles];
#pragma unroll
  for (int half = 0; half < 2 * RowTiles; ++half)
    seen[half] = span_of(half).of_tile(first_streamed);
  for_each_score<RowTiles>([&](int m, int n, int i, int half, int e) {
    if (!seen[half].holds(tiles::streamed_row<T>(place, n, e))) scores[m][n][i] = -INFINITY;
  });
}

template <int Threads, int Slices, int RowTiles, int Tiles>
__device__ __forceinline__ void add_slices(float* shared, const tiles::Place<RowTiles>& place,
                                           float (&sums)[RowTiles][Tiles][4]) {
  tiles::gather_slices<Threads, Slices, RowTiles * Tiles * 4>(
      shared, place, [&](int n) { return tiles::element(sums, n); },
      [&](auto given) {
#pragma unroll
        for (int n = 0; n < RowTiles * Tiles * 4; ++n) tiles::element(sums, n) += given(n);
      });
}

// The factor of stored rows.
struct One {
  __device__ float operator()(int) const { return 1; }
};

// d_queries of a tile of queries: loops over the keys. Scores q.k become the probabilities p =
// exp(q.k scale - lse), and dy.v becomes ds = p (dy.v - delta) scale. Under a soft cap q.k scale is
// capped, and ds takes the cap's slope. Gradients of biases are summed by bucket on the way.
template <int Width, class T, int Terms, int Slices, int RowTiles, int Warps>
struct QueryGradient {
  using Tile = tiles::Tile<Width>;
  using Place = tiles::PlaceOf<RowTiles, Warps>;
  using Cut = AttentionTiles<Width, Slices, RowTiles, Warps>;
  static constexpr AttentionPass pass = AttentionPass::query_gradient;
  static constexpr int slice_threads = Tile::threads(Warps), threads = Slices * slice_threads,
                       block_elements = Place::block_rows * Tile::stride;
  // the block's rows, in shared memory
  static constexpr bool rounded = sizeof(T) == 4 && Terms == 1;
  using Rows = tiles::RowsOf<Width, T, rounded>;
  using Stream = tiles::Stream<Width, Cut::pairs(pass), Slices, T, Warps>;
  static constexpr int shared_bytes = Cut::shared_bytes(pass, sizeof(T)),
                       blocks = Width <= 64 && Slices == 1 ? 4 / RowTiles : 1;
  using Buckets = BucketSums<Width, Slices, RowTiles, Warps>;
  static constexpr int bucket_bytes = Buckets::bytes;

  static_assert(shared_bytes ==
                (2 * block_elements + Stream::elements) * static_cast<int>(sizeof(T)));

  template <class Sight>
  static __device__ void run(const T* qkv, Sight sight, const float* lse, const T* d_out, T* d_qkv,
                             const float* delta, AttentionShape s) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* const shared = reinterpret_cast<T*>(memory);
    const HeadView at(s, sight, blockIdx.z, blockIdx.y);
    const Place place(Tile::groups);
    const long first = static_cast<long>(blockIdx.x) * Place::block_rows,
               warp_first = first + place.first_row;
    const typename Sight::template Queries<Place> seeing(sight, s, first, place);
    // of exponentials to the base 2; caps and biases scale scores themselves
    const float scale = Sight::capped || Sight::biased ? log2_of_e : s.scale * log2_of_e;
    const T* const keys_at = keys_in<Sight>(qkv, s);
    float row_lse[Place::halves], row_delta[Place::halves];
#pragma unroll
    for (int half = 0; half < Place::halves; ++half) {
      const long t = first + place.row(half);
      row_lse[half] = t < seeing.end ? lse[at.lse + t] * log2_of_e : 0,
      row_delta[half] = t < seeing.end ? delta[at.lse + t] : 0;
    }
    tiles::load<Place::block_rows, Width, threads>(shared, qkv + at.query, first, seeing.end,
                                                   at.row, s.head_size);
    tiles::load<Place::block_rows, Width, threads>(shared + block_elements, d_out + at.out, first,
                                                   seeing.end, at.out_row, s.head_size);
    commit_copies();
    Stream keys_and_values(
        shared + 2 * block_elements, keys_at + at.key, at.key_row, keys_at + at.value, at.key_row,
        first_streamed_key<Sight>(seeing.keys.from), seeing.keys.end, s.head_size);
    if constexpr (rounded) {
      keys_and_values.wait_for_older();
      tiles::round_tiles<2 * block_elements, threads>(shared);
    }
    const Rows queries(shared, place), dy(shared + block_elements, place);
    [[maybe_unused]] DroppedQuery dropped[RowTiles];
    if constexpr (Sight::dropped) dropped_queries(dropped, place, first, s.dropout);
    [[maybe_unused]] Buckets buckets(memory + shared_bytes, Sight::biased && s.biases.d_buckets);
    tiles::Rows16<Tile::columns> sums[RowTiles];
    tiles::clear(sums);
    for (; keys_and_values.more(); keys_and_values.end()) {
      // the first time for the rows of the block too, whose copies are older
      keys_and_values.begin();
      const long key = keys_and_values.at(place);
      if (seeing.none(warp_first, key)) continue;
      tiles::Scores<RowTiles> scores, d_weights;
      [[maybe_unused]] tiles::Scores<RowTiles> slopes;
      tiles::row_products<Terms, Width>(queries, keys_and_values.first(place), place, scores);
      if constexpr (Sight::capped) cap_scores(scores, slopes, s);
      if constexpr (Sight::biased) add_biases<T, false>(scores, place, first, key, blockIdx.y, s);
      if (!seeing.all(warp_first, key))
        hide<T>(scores, place, key,
                [&](int half) { return seeing.seen_by(half, first + place.row(half)); });
      for_each_score<RowTiles>([&](int m, int n, int i, int half, int) {
        scores[m][n][i] = tiles::power_of_two(scores[m][n][i] * scale - row_lse[half]);
      });
      tiles::row_products<Terms, Width>(dy, keys_and_values.second(place), place, d_weights);
      if constexpr (Sight::dropped) drop<T>(d_weights, dropped, place, key, s.dropout);
      for_each_score<RowTiles>([&](int m, int n, int i, int half, int) {
        const float d = scores[m][n][i] * (d_weights[m][n][i] - row_delta[half]);
        if constexpr (Sight::biased) scores[m][n][i] = d;
        if constexpr (Sight::capped)
          d_weights[m][n][i] = d * slopes[m][n][i];
        else
          d_weights[m][n][i] = d * s.scale;
      });
      if constexpr (Sight::biased) buckets.template add<T>(scores, place, first, key, s);
      tiles::weighted_rows<Terms, Width>(
          d_weights, keys_and_values.first(place) + place.group * Tile::columns, place, sums);
    }
    if constexpr (Sight::biased) buckets.store(s);
    add_slices<slice_threads, Slices>(reinterpret_cast<float*>(memory), place, sums);
    if (place.slice > 0) return;
    tiles::store(
        sums, place, place.group * Tile::columns, s.head_size,
        [&](int r) {
          return first + r < s.tokens ? d_qkv + at.query + (first + r) * at.row : nullptr;
        },
        One{});
  }
};

// d_keys and d_values of a tile of keys: loops over the queries of all heads that see them. Rows of
// scores are keys, columns queries.
template <int Width, class T, int Terms, int Slices, int RowTiles, int Warps>
struct KeyValueGradient {
  using Tile = tiles::Tile<Width>;
  using Place = tiles::PlaceOf<RowTiles, Warps>;
  using Cut = AttentionTiles<Width, Slices, RowTiles, Warps>;
  static constexpr AttentionPass pass = AttentionPass::key_value_gradient;
  static constexpr int slice_threads = Tile::threads(Warps), threads = Slices * slice_threads,
                       block_elements = Place::block_rows * Tile::stride;
  // the block's rows, in shared memory
  static constexpr bool rounded = sizeof(T) == 4 && Terms == 1;
  using Rows = tiles::RowsOf<Width, T, rounded>;
  using Stream = tiles::Stream<Width, Cut::pairs(pass), Slices, T, Warps>;
  static constexpr int shared_bytes = Cut::shared_bytes(pass, sizeof(T)),
                       blocks = Width <= 64 && Slices == 1 ? 2 : 1, bucket_bytes = 0;

  static_assert(shared_bytes ==
                (2 * block_elements + Stream::elements) * static_cast<int>(sizeof(T)));

  template <class Sight>
  static __device__ void run(const T* qkv, Sight sight, const float* lse, const T* d_out, T* d_qkv,
                             const float* delta, AttentionShape s) {
    constexpr int tiles_of_queries = tiles::streamed_rows / 8;
    extern __shared__ __align__(16) unsigned char memory[];
    T* const shared = reinterpret_cast<T*>(memory);
    const int members = Sight::grouped ? s.group : 1;  // query heads of this head of keys
    const HeadView at(s, sight, blockIdx.z, static_cast<long>(blockIdx.y) * members);
    const Place place(Tile::groups);
    const long first = static_cast<long>(blockIdx.x) * Place::block_rows,
               warp_first = first + place.first_row;
    // of exponentials to the base 2; caps and biases scale scores themselves
    const float scale = Sight::capped || Sight::biased ? log2_of_e : s.scale * log2_of_e;
    const T* const keys_at = keys_in<Sight>(qkv, s);
    const typename Sight::template Keys<Place> keys_seen(sight, s, first, place);
    tiles::load<Place::block_rows, Width, threads>(shared, keys_at + at.key, first, keys_seen.end,
                                                   at.key_row, s.head_size);
    tiles::load<Place::block_rows, Width, threads>(shared + block_elements, keys_at + at.value,
                                                   first, keys_seen.end, at.key_row, s.head_size);
    commit_copies();
    tiles::Rows16<Tile::columns> d_keys[RowTiles], d_values[RowTiles];
    tiles::clear(d_keys);
    tiles::clear(d_values);
    for (int member = 0; member < members; ++member) {
      if (member > 0) __syncthreads();  // all have used the last tile of the head before
      const long head = static_cast<long>(member) * s.head_size,
                 statistics = at.lse + static_cast<long>(member) * s.tokens;
      Stream queries_and_dy(shared + 2 * block_elements, qkv + at.query + head, at.row,
                            d_out + at.out + head, at.out_row, keys_seen.queries.from,
                            keys_seen.queries.end, s.head_size);
      if constexpr (rounded)
        if (member == 0) {
          queries_and_dy.wait_for_older();
          tiles::round_tiles<2 * block_elements, threads>(shared);
        }
      const Rows keys(shared, place), values(shared + block_elements, place);
      for (; queries_and_dy.more(); queries_and_dy.end()) {
        const long query = queries_and_dy.at(place);
        const int real = static_cast<int>(
            min(keys_seen.queries.end - query, static_cast<long>(tiles::streamed_rows)));
        const auto load_columns = [&](const float* of_tile, float(&columns)[tiles_of_queries][2]) {
#pragma unroll
          for (int n = 0; n < tiles_of_queries; ++n)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const int t = tiles::streamed_row<T>(place, 0, e) + 8 * n;
              columns[n][e] = t < real ? of_tile[t] : 0;
            }
        };
        float column_lse[tiles_of_queries][2], column_delta[tiles_of_queries][2];
        load_columns(lse + statistics + query, column_lse);
        queries_and_dy.begin();
        if (keys_seen.none(warp_first, query)) continue;
        tiles::Scores<RowTiles> scores, d_weights;
        [[maybe_unused]] tiles::Scores<RowTiles> slopes;
        tiles::row_products<Terms, Width>(keys, queries_and_dy.first(place), place, scores);
        if constexpr (Sight::capped) cap_scores(scores, slopes, s);
        if constexpr (Sight::biased)
          add_biases<T, true>(scores, place, first, query,
                              static_cast<long>(blockIdx.y) * members + member, s);
        if (!keys_seen.all(warp_first, query))
          hide<T>(scores, place, query,
                  [&](int half) { return keys_seen.that_see(half, first + place.row(half)); });
        for_each_score<RowTiles>([&](int m, int n, int i, int, int e) {
          scores[m][n][i] =
              tiles::power_of_two(scores[m][n][i] * scale - column_lse[n][e] * log2_of_e);
        });
        load_columns(delta + statistics + query, column_delta);
        // before the other scores need registers
        [[maybe_unused]] std::uint32_t kept[RowTiles];
        if constexpr (Sight::dropped) {
          kept_of_tile(kept, place, first, query, static_cast<long>(blockIdx.y) * members + member,
                       s.dropout);
          for_each_score<RowTiles>([&](int m, int n, int i, int, int) {
            d_weights[m][n][i] = scores[m][n][i] * factor_of<T>(kept[m], place, n, i, s.dropout);
          });
        }
        tiles::weighted_rows<Terms, Width>(
            Sight::dropped ? d_weights : scores,
            queries_and_dy.second(place) + place.group * Tile::columns, place, d_values);
        tiles::row_products<Terms, Width>(values, queries_and_dy.second(place), place, d_weights);
        if constexpr (Sight::dropped)
          for_each_score<RowTiles>([&](int m, int n, int i, int, int) {
            d_weights[m][n][i] *= factor_of<T>(kept[m], place, n, i, s.dropout);
          });
        for_each_score<RowTiles>([&](int m, int n, int i, int, int e) {
          const float d = scores[m][n][i] * (d_weights[m][n][i] - column_delta[n][e]);
          if constexpr (Sight::capped)
            d_weights[m][n][i] = d * slopes[m][n][i];
          else
            d_weights[m][n][i] = d * s.scale;
        });
        tiles::weighted_rows<Terms, Width>(
            d_weights, queries_and_dy.first(place) + place.group * Tile::columns, place, d_keys);
      }
    }
    add_slices<slice_threads, Slices>(reinterpret_cast<float*>(memory), place, d_keys);
    add_slices<slice_threads, Slices>(reinterpret_cast<float*>(memory), place, d_values);
    if (place.slice > 0) return;
    T* const to = key_gradients_in<Sight>(d_qkv, s);
    const auto row_of = [&](T* column, int r) {
      return first + r < key_count<Sight>(s) ? column + (first + r) * at.key_row : nullptr;
    };
    tiles::store(
        d_keys, place, place.group * Tile::columns, s.head_size,
        [&](int r) { return row_of(to + at.key, r); }, One{});
    tiles::store(
        d_values, place, place.group * Tile::columns, s.head_size,
        [&](int r) { return row_of(to + at.value, r); }, One{});
  }
};

template <class T, class Sight>
cudaError_t launch_row_deltas(const T* out, const T* d_out, float* delta, Sight sight,
                              const AttentionSize& s, cudaStream_t stream) {
  const long rows = s.batch * s.tokens * s.heads;
  row_deltas<<<static_cast<unsigned>((rows + 7) / 8), 256, 0, stream>>>(
      out, d_out, delta, sight, rows, s.tokens, static_cast<int>(s.heads),
      static_cast<int>(s.head_size));
  return cudaGetLastError();
}

template <class T, class Sight>
cudaError_t QueryPass<T, Sight>::launch(const T* qkv, Sight sight, const T* out, const float* lse,
                                        const T* d_out, T* d_qkv, float* delta,
                                        const AttentionSize& size, cudaStream_t stream) {
  if (const cudaError_t error = launch_row_deltas(out, d_out, delta, sight, size, stream);
      error != cudaSuccess)
    return error;
  const float* const deltas = delta;
  return launch_by_head<QueryGradient, T>(size, stream, qkv, sight, lse, d_out, d_qkv, deltas);
}

template <class T, class Sight>
cudaError_t KeyValuePass<T, Sight>::launch(const T* qkv, Sight sight, const float* lse,
                                           const T* d_out, T* d_qkv, const float* delta,
                                           const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<KeyValueGradient, T>(size, stream, qkv, sight, lse, d_out, d_qkv, delta);
}

}  // namespace trainx::kernels
