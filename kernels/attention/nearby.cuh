// Who sees whom where a sample is one text whose tokens see those nearby, on both sides: tokens of
// its first ones up to a length, at a distance below a window. Answers what lengths.cuh does; heads
// of keys may serve several of queries.
#pragma once
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

struct Nearby {
  static constexpr bool grouped = true, capped = false, dropped = false, biased = false,
                        remote = false;
  const std::int32_t* of_samples;  // i32 [B]; null: T each
  long window;                     // at least 1

  __device__ void prepare(long, long, long, int) const {}

  /// Rows of a tile from `first` on and the streamed ones near them: who sees whom is the same from
  /// both sides.
  template <class Place>
  struct Rows {
    long window, end;
    Span near;
    __device__ Rows(const Nearby& sight, const AttentionShape& s, long first)
        : window(sight.window),
          end(sight.of_samples ? sight.of_samples[blockIdx.z] : s.tokens),
          near(first < end ? around(first, first + Place::block_rows) : Span{0, 0}) {}
    /// That rows [from, to) see, or some of them.
    __device__ Span around(long from, long to) const {
      return {max(0L, from - window + 1), min(end, to - 1 + window)};
    }
    __device__ bool none(long warp, long streamed) const {
      return warp >= end || streamed >= warp + Place::warp_rows - 1 + window ||
             streamed + tiles::streamed_rows <= warp - window + 1;
    }
    __device__ bool all(long warp, long streamed) const {
      return warp + Place::warp_rows <= end && streamed + tiles::streamed_rows <= end &&
             streamed >= warp + Place::warp_rows - window &&
             streamed + tiles::streamed_rows <= warp + window;
    }
    __device__ Span of_row(long row) const { return row < end ? around(row, row + 1) : Span{0, 0}; }
  };

  template <class Place>
  struct Queries : Rows<Place> {
    Span keys;
    __device__ Queries(const Nearby& sight, const AttentionShape& s, long first, const Place&)
        : Rows<Place>(sight, s, first), keys(this->near) {}
    __device__ Span seen_by(int, long row) const { return this->of_row(row); }
  };

  template <class Place>
  struct Keys : Rows<Place> {
    Span queries;
    __device__ Keys(const Nearby& sight, const AttentionShape& s, long first, const Place&)
        : Rows<Place>(sight, s, first), queries(this->near) {}
    __device__ Span that_see(int, long row) const { return this->of_row(row); }
  };
};

/// Of lengths, with a window or without.
inline Nearby nearby(const std::int32_t* lengths, const AttentionSize& size) {
  return {lengths, static_cast<long>(size.window > 0 ? size.window : size.tokens)};
}

}  // namespace trainx::kernels
