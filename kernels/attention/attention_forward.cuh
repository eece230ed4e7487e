// Attention forward, whoever sees whom (`Sight`: lengths.cuh).
#pragma once
#include <cmath>
#include <type_traits>
#include "kernels/attention/biased.cuh"
#include "kernels/attention/dropped.cuh"
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/launch_by_head.cuh"
#include "kernels/attention/lengths.cuh"
#include "kernels/attention/soft_cap.cuh"
#include "kernels/attention/tiles16.cuh"

namespace trainx::kernels {

// A tile of queries against all tiles of keys, with a running maximum and sum per row
// (arXiv:2205.14135, algorithm 1), exponentials to the base 2.
template <int Width, class T, int Terms, int Slices, int RowTiles, int Warps>
struct Forward {
  using Tile = tiles::Tile<Width>;
  using Place = tiles::PlaceOf<RowTiles, Warps>;
  using Cut = AttentionTiles<Width, Slices, RowTiles, Warps>;
  static constexpr AttentionPass pass = AttentionPass::forward;
  static constexpr int slice_threads = Tile::threads(Warps), threads = Slices * slice_threads,
                       block_elements = Place::block_rows * Tile::stride;
  // queries in registers
  static constexpr bool kept = sizeof(T) == 4 && Terms == 1 && Width <= 64;
  using Rows = std::conditional_t<kept, tiles::KeptRows<Width, RowTiles>, tiles::RowsOf<Width, T>>;
  using Stream = tiles::Stream<Width, Cut::pairs(pass), Slices, T, Warps>;
  static constexpr int shared_bytes = Cut::shared_bytes(pass, sizeof(T)),
                       blocks = Width <= 64 && Slices == 1 ? 4 / RowTiles : 1, bucket_bytes = 0;

  static_assert(shared_bytes == (block_elements + Stream::elements) * static_cast<int>(sizeof(T)));

  template <class Sight>
  static __device__ void run(const T* qkv, Sight sight, T* out, float* lse, AttentionShape s) {
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

    tiles::load<Place::block_rows, Width, threads>(shared, qkv + at.query, first, seeing.end,
                                                   at.row, s.head_size);
    commit_copies();
    Stream keys_and_values(
        shared + block_elements, keys_at + at.key, at.key_row, keys_at + at.value, at.key_row,
        first_streamed_key<Sight>(seeing.keys.from), seeing.keys.end, s.head_size);
    if (kept) keys_and_values.wait_for_older();
    const Rows queries(shared, place);

    float maximum[Place::halves], total[Place::halves];
#pragma unroll
    for (int half = 0; half < Place::halves; ++half) maximum[half] = -INFINITY, total[half] = 0;
    [[maybe_unused]] DroppedQuery dropped[RowTiles];
    if constexpr (Sight::dropped) dropped_queries(dropped, place, first, s.dropout);
    tiles::Rows16<Tile::columns> sums[RowTiles];
    tiles::clear(sums);
    for (; keys_and_values.more(); keys_and_values.end()) {
      // the first time for the queries too, whose copies are older
      keys_and_values.begin();
      const long key = keys_and_values.at(place);
      if (seeing.none(warp_first, key)) continue;
      tiles::Scores<RowTiles> scores;
      tiles::row_products<Terms, Width>(queries, keys_and_values.first(place), place, scores);
      if constexpr (Sight::capped) cap_scores(scores, s);
      if constexpr (Sight::biased) add_biases<T, false>(scores, place, first, key, blockIdx.y, s);
      if (!seeing.all(warp_first, key))
#pragma unroll
        for (int half = 0; half < Place::halves; ++half) {
          const Span::OfTile seen = seeing.seen_by(half, first + place.row(half)).of_tile(key);
#pragma unroll
          for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
            for (int e = 0; e < 2; ++e)
              if (!seen.holds(tiles::streamed_row<T>(place, n, e)))
                scores[half / 2][n][2 * (half % 2) + e] = -INFINITY;
        }
#pragma unroll
      for (int half = 0; half < Place::halves; ++half) {
        const int upper = 2 * (half % 2);
        float largest = -INFINITY;
#pragma unroll
        for (const auto& of_columns : scores[half / 2])
          largest = fmaxf(largest, fmaxf(of_columns[upper], of_columns[upper + 1]));
        largest = fmaxf(maximum[half], tiles::row_maximum(largest) * scale);
        // none seen so far: all weights are zero
        const float offset = largest == -INFINITY ? 0.0f : largest;
        const float rescale = tiles::power_of_two(maximum[half] - offset);
        maximum[half] = largest;
        float sum = 0;
#pragma unroll
        for (auto& of_columns : scores[half / 2])
#pragma unroll
          for (int e = upper; e < upper + 2; ++e) {
            of_columns[e] = tiles::power_of_two(of_columns[e] * scale - offset);
            sum += of_columns[e];
          }
        total[half] = total[half] * rescale + sum;  // of this thread's columns
#pragma unroll
        for (auto& of_columns : sums[half / 2])
          of_columns[upper] *= rescale, of_columns[upper + 1] *= rescale;
      }
      if constexpr (Sight::dropped) drop<T>(scores, dropped, place, key, s.dropout);
      tiles::weighted_rows<Terms, Width>(
          scores, keys_and_values.second(place) + place.group * Tile::columns, place, sums);
    }
    constexpr int elements = RowTiles * Tile::columns / 2;
    tiles::gather_slices<slice_threads, Slices, elements + 2 * Place::halves>(
        reinterpret_cast<float*>(memory), place,
        [&](int n) {
          return n < elements                   ? tiles::element(sums, n)
                 : n < elements + Place::halves ? maximum[n - elements]
                                                : total[n - elements - Place::halves];
        },
        [&](auto given) {
          float rescale[Place::halves], weight[Place::halves];
#pragma unroll
          for (int half = 0; half < Place::halves; ++half) {
            const float theirs = given(elements + half), largest = fmaxf(maximum[half], theirs),
                        offset = largest == -INFINITY ? 0.0f : largest;
            rescale[half] = tiles::power_of_two(maximum[half] - offset),
            weight[half] = tiles::power_of_two(theirs - offset);
            maximum[half] = largest;
            total[half] = total[half] * rescale[half] +
                          given(elements + Place::halves + half) * weight[half];
          }
#pragma unroll
          for (int n = 0; n < elements; ++n) {
            const int half = n / (Tile::columns / 2) * 2 + n % 4 / 2;
            float& sum = tiles::element(sums, n);
            sum = sum * rescale[half] + given(n) * weight[half];
          }
        });
    if (place.slice > 0) return;
    float factor[Place::halves];
#pragma unroll
    for (int half = 0; half < Place::halves; ++half) {
      const long t = first + place.row(half);
      total[half] = tiles::row_sum(total[half]);
      float share = 1;  // of what was summed, in units of the maximum
      if constexpr (Sight::biased) share = add_sink(maximum[half], total[half], s);
      const bool real = t < seeing.end;
      factor[half] = real ? share / total[half] : 0.0f;
      if (place.t == 0 && place.group == 0 && t < s.tokens)
        lse[at.lse + t] = real ? maximum[half] / log2_of_e + logf(total[half]) : 0.0f;
    }
    tiles::store(
        sums, place, place.group * Tile::columns, s.head_size,
        [&](int r) {
          return first + r < s.tokens ? out + at.out + (first + r) * at.out_row : nullptr;
        },
        [&](int half) { return factor[half]; });
  }
};

}  // namespace trainx::kernels
