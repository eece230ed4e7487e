// Who sees whom where keys and values are of another text: every query sees its sample's first
// keys, up to a length. Answers what lengths.cuh does.
#pragma once
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

struct Across {
  static constexpr bool grouped = true, capped = false, dropped = false, biased = false,
                        remote = true;
  const std::int32_t* of_samples;  // i32 [B], of keys; null: all

  __device__ long keys_of_sample(const AttentionShape& s) const {
    return of_samples ? of_samples[blockIdx.z] : s.memory.tokens;
  }
  __device__ void prepare(long, long, long, int) const {}

  /// Of a text without keys no query is real.
  template <class Place>
  struct Queries {
    Span keys;
    long end;
    __device__ Queries(const Across& sight, const AttentionShape& s, long, const Place&)
        : keys{0, sight.keys_of_sample(s)}, end(keys.end > 0 ? s.tokens : 0) {}
    __device__ bool none(long warp, long) const { return warp >= end; }
    __device__ bool all(long warp, long key) const {
      return warp + Place::warp_rows <= end && key + tiles::streamed_rows <= keys.end;
    }
    __device__ Span seen_by(int, long row) const { return {0, row < end ? keys.end : 0}; }
  };

  template <class Place>
  struct Keys {
    long end;
    Span queries;
    __device__ Keys(const Across& sight, const AttentionShape& s, long first, const Place&)
        : end(sight.keys_of_sample(s)), queries{0, first < end ? s.tokens : 0} {}
    __device__ bool none(long warp, long) const { return warp >= end; }
    __device__ bool all(long warp, long query) const {
      return warp + Place::warp_rows <= end && query + tiles::streamed_rows <= queries.end;
    }
    __device__ Span that_see(int, long row) const { return {0, row < end ? queries.end : 0}; }
  };
};

}  // namespace trainx::kernels
