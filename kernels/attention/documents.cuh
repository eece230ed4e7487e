// Who sees whom where a row holds documents one behind the other: a token sees itself and those
// before it in its document. Answers what lengths.cuh does.
#pragma once
#include <climits>
#include <cstdint>
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

struct Documents {
  static constexpr bool grouped = false, capped = false, dropped = false, biased = false,
                        remote = false;
  // i32 [B, T]: where in the row a token's document begins; -1: padding, at the end of the row
  const std::int32_t* starts;
  // i32 [B, T]: where it ends; of backward alone, which fills it
  std::int32_t* ends;

  /// The warp of a document's last token tells all of it where it ends.
  __device__ void prepare(long b, long t, long tokens, int lane) const {
    const std::int32_t* const start = starts + b * tokens;
    if (start[t] < 0 || (t + 1 < tokens && start[t + 1] == start[t])) return;
    for (long u = start[t] + lane; u <= t; u += 32)
      ends[b * tokens + u] = static_cast<std::int32_t>(t + 1);
  }

  /// Where padding begins in a tile, or the tile ends. For all threads of the block, at least one a
  /// row.
  template <class Place>
  __device__ long end_of_tile(const AttentionShape& s, long first) const {
    const long t = first + threadIdx.x;
    return first + __syncthreads_count(t < first + Place::block_rows && t < s.tokens &&
                                       starts[blockIdx.z * s.tokens + t] >= 0);
  }

  template <class Place>
  struct Queries {
    long end;
    Span keys{0, 0};
    // where the document begins of this thread's rows, of the warp's; that of padding never does
    int begin[Place::halves], lowest, highest;
    __device__ Queries(const Documents& documents, const AttentionShape& s, long first,
                       const Place& place)
        : end(documents.end_of_tile<Place>(s, first)) {
      const std::int32_t* const start = documents.starts + blockIdx.z * s.tokens;
      if (end > first) keys = {start[first], end};
      lowest = INT_MAX, highest = 0;
#pragma unroll
      for (int half = 0; half < Place::halves; ++half) {
        const long row = first + place.row(half);
        begin[half] = row < end ? start[row] : INT_MAX;
        lowest = min(lowest, begin[half]), highest = max(highest, begin[half]);
      }
      lowest = __reduce_min_sync(0xffffffff, lowest);
      highest = __reduce_max_sync(0xffffffff, highest);
    }
    __device__ bool none(long warp, long key) const {
      return key >= warp + Place::warp_rows || key + tiles::streamed_rows <= lowest;
    }
    __device__ bool all(long warp, long key) const {
      return key >= highest && key + tiles::streamed_rows <= warp + 1;
    }
    __device__ Span seen_by(int half, long row) const { return {begin[half], row + 1}; }
  };

  template <class Place>
  struct Keys {
    long end;
    Span queries{0, 0};
    // where the document ends of this thread's rows, of the warp's; that of padding before all
    int until[Place::halves], shortest, longest;
    __device__ Keys(const Documents& documents, const AttentionShape& s, long first,
                    const Place& place)
        : end(documents.end_of_tile<Place>(s, first)) {
      const std::int32_t* const ends = documents.ends + blockIdx.z * s.tokens;
      if (end > first) queries = {first, ends[end - 1]};
      shortest = INT_MAX, longest = 0;
#pragma unroll
      for (int half = 0; half < Place::halves; ++half) {
        const long row = first + place.row(half);
        until[half] = row < end ? ends[row] : 0;
        shortest = min(shortest, until[half]), longest = max(longest, until[half]);
      }
      shortest = __reduce_min_sync(0xffffffff, shortest);
      longest = __reduce_max_sync(0xffffffff, longest);
    }
    __device__ bool none(long warp, long query) const {
      return query + tiles::streamed_rows <= warp || query >= longest;
    }
    __device__ bool all(long warp, long query) const {
      return warp + Place::warp_rows <= query + 1 && query + tiles::streamed_rows <= shortest;
    }
    __device__ Span that_see(int half, long row) const { return {row, until[half]}; }
  };
};

}  // namespace trainx::kernels
