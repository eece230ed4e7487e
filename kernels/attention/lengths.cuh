// Who sees whom where a sample is one text: its first tokens up to a length, under a causal mask those up to the query's own.
// What the kernels ask of a sight: a block, which of its rows are real (those before `end`) and what it streams; a warp, whether its rows from `warp` on and a tile of streamed
// ones see each other all or not at all; a thread, of each of its rows (tiles::Place) and a streamed one.
#pragma once
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

/// Rows of a sample.
struct Span {
  long from, end;
};

struct Lengths {
  const std::int32_t* of_samples;       // i32 [B]; null: T each

  __device__ long of_sample(const AttentionShape& s) const { return of_samples ? of_samples[blockIdx.z] : s.tokens; }
  /// Of backward, one warp for each token t of sample b, before anything is asked.
  __device__ void prepare(long, long, long, int) const {}

  /// A tile of queries from `first` on, and the keys that it streams.
  template <class Place>
  struct Queries {
    bool causal;
    long end;
    Span keys;
    __device__ Queries(const Lengths& lengths, const AttentionShape& s, long first, const Place&)
        : causal(s.causal), end(lengths.of_sample(s)), keys{0, first >= end ? 0 : causal ? min(end, first + Place::block_rows) : end} {}
    __device__ bool none(long warp, long key) const { return causal && key >= warp + Place::warp_rows; }
    __device__ bool all(long warp, long key) const {
      return warp + Place::warp_rows <= end && key + tiles::streamed_rows <= end && (!causal || key + tiles::streamed_rows <= warp + 1);
    }
    __device__ bool sees(int, long row, long key) const { return row < end && key < end && (!causal || key <= row); }
  };

  /// A tile of keys from `first` on, and the queries that it streams.
  template <class Place>
  struct Keys {
    bool causal;
    long end;
    Span queries;
    __device__ Keys(const Lengths& lengths, const AttentionShape& s, long first, const Place&)
        : causal(s.causal), end(lengths.of_sample(s)), queries{causal ? first : 0, first >= end ? 0 : end} {}
    __device__ bool none(long warp, long query) const { return causal && query + tiles::streamed_rows <= warp; }
    __device__ bool all(long warp, long query) const {
      return query + tiles::streamed_rows <= end && warp + Place::warp_rows <= end && (!causal || warp + Place::warp_rows <= query + 1);
    }
    __device__ bool seen(int, long row, long query) const { return query < end && row < end && (!causal || row <= query); }
  };
};

}  // namespace trainx::kernels
