// Who sees whom where a row holds documents one behind the other: a token sees itself and those before it in its document. Answers what lengths.cuh does.
#pragma once
#include <climits>
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

struct Documents {
  const std::int32_t* starts;           // i32 [B, T]: where in the row a token's document begins; -1: padding, at the end of the row
  std::int32_t* ends;                   // i32 [B, T]: where it ends; of backward alone, which fills it

  /// The warp of a document's last token tells all of it where it ends.
  __device__ void prepare(long b, long t, long tokens, int lane) const {
    const std::int32_t* const start = starts + b * tokens;
    if (start[t] < 0 || (t + 1 < tokens && start[t + 1] == start[t])) return;
    for (long u = start[t] + lane; u <= t; u += 32) ends[b * tokens + u] = static_cast<std::int32_t>(t + 1);
  }

  /// Where padding begins in a tile, or the tile ends. For all threads of the block.
  __device__ long end_of_tile(const AttentionShape& s, long first) const {
    const long t = first + threadIdx.x;
    return first + __syncthreads_count(t < first + tiles::block_rows && t < s.tokens && starts[blockIdx.z * s.tokens + t] >= 0);
  }

  struct Queries {
    long end;
    Span keys{0, 0};
    int begin[2], lowest, highest;      // where the document begins of this thread's rows, of the warp's; that of padding never does
    __device__ Queries(const Documents& documents, const AttentionShape& s, long first, const tiles::Place& place) : end(documents.end_of_tile(s, first)) {
      const std::int32_t* const start = documents.starts + blockIdx.z * s.tokens;
      if (end > first) keys = {start[first], end};
      for (int half = 0; half < 2; ++half) {
        const long row = first + place.row(half);
        begin[half] = row < end ? start[row] : INT_MAX;
      }
      lowest = __reduce_min_sync(0xffffffff, min(begin[0], begin[1]));
      highest = __reduce_max_sync(0xffffffff, max(begin[0], begin[1]));
    }
    __device__ bool none(long warp, long key) const { return key >= warp + tiles::warp_rows || key + tiles::streamed_rows <= lowest; }
    __device__ bool all(long warp, long key) const { return key >= highest && key + tiles::streamed_rows <= warp + 1; }
    __device__ bool sees(int half, long row, long key) const { return key >= begin[half] && key <= row; }
  };

  struct Keys {
    long end;
    Span queries{0, 0};
    int until[2], shortest, longest;    // where the document ends of this thread's rows, of the warp's; that of padding before all
    __device__ Keys(const Documents& documents, const AttentionShape& s, long first, const tiles::Place& place) : end(documents.end_of_tile(s, first)) {
      const std::int32_t* const ends = documents.ends + blockIdx.z * s.tokens;
      if (end > first) queries = {first, ends[end - 1]};
      for (int half = 0; half < 2; ++half) {
        const long row = first + place.row(half);
        until[half] = row < end ? ends[row] : 0;
      }
      shortest = __reduce_min_sync(0xffffffff, min(until[0], until[1]));
      longest = __reduce_max_sync(0xffffffff, max(until[0], until[1]));
    }
    __device__ bool none(long warp, long query) const { return query + tiles::streamed_rows <= warp || query >= longest; }
    __device__ bool all(long warp, long query) const { return warp + tiles::warp_rows <= query + 1 && query + tiles::streamed_rows <= shortest; }
    __device__ bool seen(int half, long row, long query) const { return query >= row && query < until[half]; }
  };
};

}  // namespace trainx::kernels
