// Which probabilities dropout keeps (attention_dropout.hpp), of scores as tensor cores leave them
// in the registers of a warp: thread 4 g + t has of each 8 columns n elements [4 n] and [4 n + 1]
// in row g, columns 2 t and 2 t + 1, and [4 n + 2], [4 n + 3] eight rows below. Eight keys of a
// query are one draw, and lie in four threads, or in eight where keys are rows. Each thread makes
// draws that no other makes, and they trade bits: a draw takes longer than all else that forward
// does with its scores.
#pragma once
#include <cstdint>
#include "kernels/attention/attention_dropout.hpp"

namespace trainx::kernels {

/// A query's draws (DroppedQuery), and what all have in common.
struct Draws {
  AttentionDropout dropout;
  DroppedQuery query;

  /// Bits 8 `place` to 8 `place` + 7: which of keys [8 * octet, 8 * octet + 8) are kept.
  __device__ __forceinline__ std::uint32_t kept(long octet, int place) const {
    const FourWords words = dropped_words(dropout, query, octet);
    std::uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (is_first_kept(dropout, words.at[i])) bits |= 1u << (8 * place + 2 * i);
      if (is_second_kept(dropout, words.at[i])) bits |= 2u << (8 * place + 2 * i);
    }
    return bits;
  }
};

/// A step of transposing bits, groups of them by threads: a pair of threads `Distance` apart, the
/// first of which keeps its groups in `lower` and gets those of the other, `Shift` bits further up,
/// for its own, which the other gets.
template <int Distance, int Shift>
__device__ __forceinline__ std::uint32_t trade(std::uint32_t bits, std::uint32_t lower) {
  const std::uint32_t other = __shfl_xor_sync(0xffffffff, bits, Distance);
  return (threadIdx.x & Distance) == 0 ? (bits & lower) | (other & lower) << Shift
                                       : (bits & ~lower) | (other >> Shift & lower);
}

/// Of S[16, 16 Count] of a warp, rows queries, columns keys from `first_key` on, a multiple of 8:
/// bit i is set if element i of this thread is kept. `draws`: of the query of this thread's first
/// row in even threads, of the second in odd ones.
template <int Count>
__device__ __forceinline__ std::uint32_t kept_of_queries(const Draws& draws, long first_key) {
  // this thread draws for every other eight keys, of one of its rows
  const long first = first_key / 8 + threadIdx.x / 2 % 2;
  std::uint32_t kept = 0;
#pragma unroll
  for (int m = 0; m < Count; ++m) kept |= draws.kept(first + 2 * m, m);
  // of each eight bits, two for each of four threads
  kept = trade<1, 2>(kept, 0x33333333);
  return trade<2, 4>(kept, 0x0f0f0f0f);
}

/// Of S^T[16, 16 Count] of a warp, rows keys from `first_key` on, a multiple of 8, columns queries:
/// bit i is set if element i of this thread is kept. query_of(column): its draws.
template <int Count, class QueryOf>
__device__ __forceinline__ std::uint32_t kept_of_keys(const AttentionDropout& dropout,
                                                      long first_key, QueryOf query_of) {
  // this thread draws for the first or the last eight rows, for queries of every other eight with
  // even or odd numbers
  const int lane = threadIdx.x % 32, row = lane / 4,
            first_column = row / 4 * 8 + lane % 4 * 2 + row % 2;
  const long octet = first_key / 8 + row / 2 % 2;
  std::uint32_t kept = 0;
#pragma unroll
  for (int m = 0; m < Count; ++m)
    kept |= Draws{dropout, query_of(first_column + 16 * m)}.kept(octet, m);
  // of each eight bits, one for each of eight threads
  kept = trade<4, 1>(kept, 0x55555555);
  kept = trade<8, 2>(kept, 0x33333333);
  return trade<16, 4>(kept, 0x0f0f0f0f);
}

__device__ __forceinline__ bool is_kept(std::uint32_t kept, int i) { return (kept >> i & 1) != 0; }

}  // namespace trainx::kernels
