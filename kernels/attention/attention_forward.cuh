// Attention forward, whoever sees whom: `Sight` is Lengths or Documents.
#pragma once
#include <cmath>
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/launch_by_head.cuh"
#include "kernels/attention/tiles16.cuh"

namespace trainx::kernels {

// A tile of queries against all tiles of keys, with a running maximum and sum per row (arXiv:2205.14135, algorithm 1), exponentials to the base 2.
template <int Width, class T, int Terms, int Slices>
struct Forward {
  using Tile = tiles::Tile<Width>;
  static constexpr int threads = Slices * Tile::threads;
  using Rows = tiles::RowsOf<Width, T>;
  using Stream = tiles::Stream<Width, 2, Slices, T>;
  static constexpr int shared_bytes = (Tile::block_elements + Stream::elements) * static_cast<int>(sizeof(T)), blocks = Width <= 64 && Slices == 1 ? 4 : 1;

  template <class Sight>
  static __device__ void run(const T* qkv, Sight sight, T* out, float* lse, AttentionShape s) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* const shared = reinterpret_cast<T*>(memory);
    const HeadView at(s);
    const tiles::Place place(Tile::groups);
    const long first = static_cast<long>(blockIdx.x) * tiles::block_rows, warp_first = first + place.first_row;
    const typename Sight::Queries seeing(sight, s, first, place);
    const float scale = s.scale * log2_of_e;

    tiles::load<tiles::block_rows, Width, threads>(shared, qkv + at.qkv, first, seeing.end, at.row, s.head_size);
    commit_copies();
    Stream keys_and_values(shared + Tile::block_elements, qkv + at.qkv + at.out_row, at.row, qkv + at.qkv + 2 * at.out_row, at.row, seeing.keys.from, seeing.keys.end,
                           s.head_size);
    const Rows queries(shared, place);

    float maximum[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
    tiles::Rows16<Tile::columns> sums;
    tiles::clear(sums);
    for (; keys_and_values.more(); keys_and_values.end()) {
      keys_and_values.begin();          // the first time for the queries too, whose copies are older
      const long key = keys_and_values.at(place);
      if (seeing.none(warp_first, key)) continue;
      tiles::Scores scores;
      tiles::row_products<Terms, Width>(queries, keys_and_values.first(place), place, scores);
      const bool all_seen = seeing.all(warp_first, key);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = maximum[half];
#pragma unroll
        for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& score = scores[n][2 * half + e];
            score = all_seen || seeing.sees(half, first + place.row(half), key + tiles::streamed_row<T>(place, n, e)) ? score * scale : -INFINITY;
            largest = fmaxf(largest, score);
          }
        largest = tiles::row_maximum(largest);
        const bool none = largest == -INFINITY;
        const float rescale = none ? 1.0f : exp2f(maximum[half] - largest);
        float sum = 0;
#pragma unroll
        for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& weight = scores[n][2 * half + e];
            weight = none ? 0.0f : exp2f(weight - largest);
            sum += weight;
          }
        total[half] = total[half] * rescale + sum;         // of this thread's columns
        maximum[half] = largest;
#pragma unroll
        for (auto& of_columns : sums) of_columns[2 * half] *= rescale, of_columns[2 * half + 1] *= rescale;
      }
      tiles::weighted_rows<Terms, Width>(scores, keys_and_values.second(place) + place.group * Tile::columns, place, sums);
    }
    constexpr int elements = Tile::columns / 2;
    tiles::gather_slices<Tile::threads, Slices, elements + 4>(
        reinterpret_cast<float*>(memory), place, [&](int n) { return n < elements ? sums[n / 4][n % 4] : n < elements + 2 ? maximum[n - elements] : total[n - elements - 2]; },
        [&](auto given) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float theirs = given(elements + half), largest = fmaxf(maximum[half], theirs);
            if (largest == -INFINITY) continue;
            const float rescale = exp2f(maximum[half] - largest), weight = exp2f(theirs - largest);
            maximum[half] = largest;
            total[half] = total[half] * rescale + given(elements + 2 + half) * weight;
#pragma unroll
            for (int n = 0; n < Tile::columns / 8; ++n)
#pragma unroll
              for (int e = 2 * half; e < 2 * half + 2; ++e) sums[n][e] = sums[n][e] * rescale + given(4 * n + e) * weight;
          }
        });
    if (place.slice > 0) return;
    float factor[2];
    for (int half = 0; half < 2; ++half) {
      const long t = first + place.row(half);
      total[half] = tiles::row_sum(total[half]);
      const bool real = t < seeing.end;
      factor[half] = real ? 1.0f / total[half] : 0.0f;
      if (place.t == 0 && place.group == 0 && t < s.tokens) lse[at.lse + t] = real ? maximum[half] / log2_of_e + logf(total[half]) : 0.0f;
    }
    tiles::store(sums, place, place.group * Tile::columns, s.head_size, [&](int r) { return first + r < s.tokens ? out + at.out + (first + r) * at.out_row : nullptr; }, factor);
  }
};

}  // namespace trainx::kernels
