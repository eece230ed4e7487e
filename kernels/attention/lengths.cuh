// Who sees whom where a sample is one text: its first tokens up to a length, under a causal mask
// those up to the query's own. What the kernels ask of a sight: a block, which of its rows are real
// (those before `end`) and what it streams; a warp, whether its rows from `warp` on and a tile of
// streamed ones see each other all or not at all; a thread, which streamed ones each of its rows
// (tiles::Place) sees or is seen by. And all: whether heads of keys serve several of queries
// (`grouped`), whether scores are under a soft cap (`capped`), whether probabilities are dropped
// (`dropped`), whether scores have biases or sinks beside them (`biased`, size.biases), and whether
// keys and values are of another text (`remote`, size.memory).
#pragma once
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/tiles.cuh"
#include <cstdint>

namespace trainx::kernels {

/// Rows of a sample.
struct Span {
  long from, end;

  /// Of the streamed rows of a tile.
  struct OfTile {
    int from, end;
    __device__ bool holds(int row) const { return row >= from && row < end; }
  };
  __device__ OfTile of_tile(long first) const {
    return {in_tile(from - first), in_tile(end - first)};
  }

 private:
  static __device__ int in_tile(long row) {
    return static_cast<int>(max(0L, min(row, static_cast<long>(tiles::streamed_rows))));
  }
};

struct Lengths {
  static constexpr bool grouped = false, capped = false, dropped = false, biased = false,
                        remote = false;
  const std::int32_t* of_samples;  // i32 [B]; null: T each

  __device__ long of_sample(const AttentionShape& s) const {
    return of_samples ? of_samples[blockIdx.z] : s.tokens;
  }
  /// Of backward, one warp for each token t of sample b, before anything is asked.
  __device__ void prepare(long, long, long, int) const {}

  /// A tile of queries from `first` on, and the keys that it streams.
  template <class Place>
  struct Queries {
    bool causal;
    long end;
    Span keys;
    __device__ Queries(const Lengths& lengths, const AttentionShape& s, long first, const Place&)
        : causal(s.causal),
          end(lengths.of_sample(s)),
          keys{0, first >= end ? 0
                  : causal     ? min(end, first + Place::block_rows)
                               : end} {}
    __device__ bool none(long warp, long key) const {
      return warp >= end || (causal && key >= warp + Place::warp_rows);
    }
    __device__ bool all(long warp, long key) const {
      return warp + Place::warp_rows <= end && key + tiles::streamed_rows <= end &&
             (!causal || key + tiles::streamed_rows <= warp + 1);
    }
    __device__ Span seen_by(int, long row) const {
      return {0, row >= end ? 0 : causal ? row + 1 : end};
    }
  };

  /// A tile of keys from `first` on, and the queries that it streams.
  template <class Place>
  struct Keys {
    bool causal;
    long end;
    Span queries;
    __device__ Keys(const Lengths& lengths, const AttentionShape& s, long first, const Place&)
        : causal(s.causal),
          end(lengths.of_sample(s)),
          queries{causal ? first : 0, first >= end ? 0 : end} {}
    __device__ bool none(long warp, long query) const {
      return warp >= end || (causal && query + tiles::streamed_rows <= warp);
    }
    __device__ bool all(long warp, long query) const {
      return query + tiles::streamed_rows <= end && warp + Place::warp_rows <= end &&
             (!causal || warp + Place::warp_rows <= query + 1);
    }
    __device__ Span that_see(int, long row) const {
      return {causal ? row : 0, row < end ? end : 0};
    }
  };
};

}  // namespace trainx::kernels
