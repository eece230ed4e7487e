// A sight whose scores have biases by distance, sinks, or both (score_biases.hpp).
#pragma once
#include <cmath>
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

template <class Sight>
struct Biased : Sight {
  static constexpr bool biased = true;
};

/// Where the table has the distance of a key from its query; rows past a text's end have the
/// farthest.
__device__ __forceinline__ long place_of_distance(const ScoreBiases& biases, long distance) {
  return max(0L, min(distance - static_cast<long>(biases.lowest),
                     static_cast<long>(biases.distances) - 1));
}

/// Products become scaled scores with their biases. Rows of a tile are queries from `first` on and
/// columns keys from `streamed` on, or the other way round.
template <class T, bool RowsAreKeys, int RowTiles>
__device__ __forceinline__ void add_biases(tiles::Scores<RowTiles>& scores,
                                           const tiles::Place<RowTiles>& place, long first,
                                           long streamed, long head, const AttentionShape& s) {
  const float* const of_head =
      s.biases.by_distance ? s.biases.by_distance + head * s.biases.distances : nullptr;
#pragma unroll
  for (int half = 0; half < 2 * RowTiles; ++half)
#pragma unroll
    for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& x = scores[half / 2][n][2 * (half % 2) + e];
        x *= s.scale;
        if (!of_head) continue;
        const long ahead = streamed + tiles::streamed_row<T>(place, n, e) - first - place.row(half);
        x += of_head[place_of_distance(s.biases, RowsAreKeys ? -ahead : ahead)];
      }
}

/// The head's sink joins a row's sum of weights, `total` in units of 2^maximum. Returns by what the
/// weights summed before it are to be multiplied.
__device__ __forceinline__ float add_sink(float& maximum, float& total, const AttentionShape& s) {
  if (!s.biases.sinks) return 1;
  const float sink = s.biases.sinks[blockIdx.y] * log2_of_e, largest = fmaxf(maximum, sink),
              share = tiles::power_of_two(maximum - largest);
  total = total * share + tiles::power_of_two(sink - largest);
  maximum = largest;
  return share;
}

/// Partial sums are kept for so many rows of queries.
constexpr int rows_of_bucket_sums = 32;

/// Sums the gradients of a block's scores by the buckets of their distances. Each thread has its
/// own sums in shared memory, so they have one order. Heads above 128 have no such sums.
template <int Width, int Slices, int RowTiles, int Warps>
class BucketSums {
  static constexpr int most = DistanceBuckets::most, columns = 32 * Warps;

 public:
  static constexpr bool possible = Width <= 128 && Slices == 1 && RowTiles == 1 && Warps > 1;
  static constexpr int bytes = possible ? most * columns * static_cast<int>(sizeof(float)) : 0;

  __device__ BucketSums(void* memory, bool wanted)
      : wanted_(possible && wanted), sums_(static_cast<float*>(memory)) {
    if (!wanted_) return;
    for (int bucket = 0; bucket < most; ++bucket) sum(bucket) = 0;
  }

  /// Rows are queries from `first` on, columns keys from `key` on.
  template <class T>
  __device__ __forceinline__ void add(const tiles::Scores<RowTiles>& d_scores,
                                      const tiles::Place<RowTiles>& place, long first, long key,
                                      const AttentionShape& s) {
    if constexpr (possible) {
      if (!wanted_) return;
      const std::int32_t* const buckets = s.biases.buckets;
      const auto bucket_of = [&](long distance) {
        return buckets[place_of_distance(s.biases, distance)];
      };
      const long row = first + place.first_row;
      const int nearest = bucket_of(key - row - (place.warp_rows - 1)),
                farthest = bucket_of(key + tiles::streamed_rows - 1 - row);
      if (nearest == farthest) {  // of the whole tile
        float all = 0;
#pragma unroll
        for (const auto& of_columns : d_scores[0])
#pragma unroll
          for (const float d : of_columns) all += d;
        sum(nearest) += all;
        return;
      }
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            sum(bucket_of(key + tiles::streamed_row<T>(place, n, e) - first - place.row(half))) +=
                d_scores[0][n][2 * half + e];
    }
  }

  /// For all threads of the block: its sums go where they belong.
  __device__ void store(const AttentionShape& s) const {
    if constexpr (possible) {
      if (!wanted_) return;
      __syncthreads();
      if (threadIdx.x >= most) return;
      const int bucket = threadIdx.x;
      float all = 0;
      // each from a column of its own on, so that reads lie in different banks
      for (int c = 0; c < columns; ++c) all += sums_[bucket * columns + (bucket + c) % columns];
      constexpr int parts = 16 * Warps / rows_of_bucket_sums;
      const long of_head = (s.tokens + rows_of_bucket_sums - 1) / rows_of_bucket_sums,
                 head = static_cast<long>(blockIdx.z) * s.heads + blockIdx.y,
                 first = static_cast<long>(blockIdx.x) * parts;
      for (long part = first; part < min(first + parts, of_head); ++part)
        s.biases.d_buckets[(head * of_head + part) * most + bucket] = part == first ? all : 0;
    }
  }

 private:
  __device__ float& sum(int bucket) { return sums_[bucket * columns + threadIdx.x]; }

  bool wanted_;
  float* sums_;
};

}  // namespace trainx::kernels
