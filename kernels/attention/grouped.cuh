// Who sees whom where heads of keys serve several of queries: a token sees itself and those before
// it, of its document where a row holds several, and of the last `window` tokens. Answers what
// lengths.cuh does.
#pragma once
#include <climits>
#include <cstdint>
#include "kernels/attention/documents.cuh"
#include "kernels/attention/launch_by_head.cuh"

namespace trainx::kernels {

template <bool Capped>
struct Grouped {
  static constexpr bool grouped = true, capped = Capped, dropped = false, biased = false,
                        remote = false;
  Documents documents;  // starts null: a row is one
  long window;          // at least 1

  __device__ void prepare(long b, long t, long tokens, int lane) const {
    if (documents.starts) documents.prepare(b, t, tokens, lane);
  }
  template <class Place>
  __device__ long end_of_tile(const AttentionShape& s, long first) const {
    return documents.starts ? documents.template end_of_tile<Place>(s, first)
                            : min(s.tokens, first + Place::block_rows);
  }
  /// Of a real row: the first key that it sees.
  __device__ int begin_of(const AttentionShape& s, long row) const {
    const long start = documents.starts ? documents.starts[blockIdx.z * s.tokens + row] : 0;
    return static_cast<int>(max(start, row - window + 1));
  }
  /// Of a real row: behind the last query that sees it.
  __device__ int end_of(const AttentionShape& s, long row) const {
    const long end = documents.starts ? documents.ends[blockIdx.z * s.tokens + row] : s.tokens;
    return static_cast<int>(min(end, row + window));
  }

  template <class Place>
  struct Queries {
    long end;
    Span keys{0, 0};
    // the first key of this thread's rows, of the warp's; padding sees none
    int begin[Place::halves], lowest, highest;
    __device__ Queries(const Grouped& sight, const AttentionShape& s, long first,
                       const Place& place)
        : end(sight.end_of_tile<Place>(s, first)) {
      if (end > first) keys = {sight.begin_of(s, first), end};
      lowest = INT_MAX, highest = 0;
#pragma unroll
      for (int half = 0; half < Place::halves; ++half) {
        const long row = first + place.row(half);
        begin[half] = row < end ? sight.begin_of(s, row) : INT_MAX;
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
    // behind the last query of this thread's rows, of the warp's; padding is before all
    int until[Place::halves], shortest, longest;
    __device__ Keys(const Grouped& sight, const AttentionShape& s, long first, const Place& place)
        : end(sight.end_of_tile<Place>(s, first)) {
      if (end > first) queries = {first, sight.end_of(s, end - 1)};
      shortest = INT_MAX, longest = 0;
#pragma unroll
      for (int half = 0; half < Place::halves; ++half) {
        const long row = first + place.row(half);
        until[half] = row < end ? sight.end_of(s, row) : 0;
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

/// Calls launch(Grouped<...>): of `starts` null a row is one document.
template <class Launch>
cudaError_t with_sight(const std::int32_t* starts, std::int32_t* ends, const AttentionSize& size,
                       Launch launch) {
  const long window = size.window > 0 ? size.window : size.tokens;
  return size.soft_cap > 0 ? launch(Grouped<true>{{starts, ends}, window})
                           : launch(Grouped<false>{{starts, ends}, window});
}

template <class Kernel, class... Arguments>
cudaError_t launch_small(const AttentionSize& size, cudaStream_t stream, Arguments... arguments) {
  static_assert(Kernel::shared_bytes + Kernel::bucket_bytes <= least_shared_bytes);
  return launch_kernel<Kernel>(size, stream, arguments...);
}

/// `Warps` of floats as shared memory has room for.
template <template <int, class, int, int, int, int> class Kernel, class T, int Terms,
          class... Arguments>
cudaError_t launch_grouped_width(const AttentionSize& size, cudaStream_t stream,
                                 Arguments... arguments) {
  constexpr bool low = sizeof(T) == 2;
  if (size.head_size > 128)
    return launch_small<Kernel<256, T, Terms, 1, 1, low ? 4 : 1>>(size, stream, arguments...);
  if (size.head_size > 64)
    return launch_small<Kernel<128, T, Terms, 1, 1, low ? 4 : 2>>(size, stream, arguments...);
  return launch_small<Kernel<64, T, Terms, 1, 1, 4>>(size, stream, arguments...);
}

template <template <int, class, int, int, int, int> class Kernel, class T, class... Arguments>
cudaError_t launch_grouped(const AttentionSize& size, cudaStream_t stream, Arguments... arguments) {
  if constexpr (sizeof(T) == 4)
    if (!size.tf32) return launch_grouped_width<Kernel, T, 3>(size, stream, arguments...);
  return launch_grouped_width<Kernel, T, 1>(size, stream, arguments...);
}

inline bool is_nothing(const AttentionSize& s) {
  return s.batch == 0 || s.tokens == 0 || s.heads == 0;
}
inline bool is_grouped_launchable(const AttentionSize& s) {
  return is_launchable(s) && s.tokens <= INT_MAX / 2 && s.key_value_heads >= 0 && s.window >= 0 &&
         s.heads % (s.key_value_heads > 0 ? s.key_value_heads : s.heads) == 0;
}

}  // namespace trainx::kernels
