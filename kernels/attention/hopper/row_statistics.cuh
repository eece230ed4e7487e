// What backward needs of every query: delta = dO . O and the logarithm of its sum of exponentials.
#pragma once
#include <cmath>
#include <cstdint>
#include "kernels/attention/attention_dropout.hpp"
#include "kernels/attention/hopper/hopper_attention.hpp"
#include "kernels/attention/hopper/spans.cuh"

namespace trainx::kernels::hopper {

/// Numbers of a query: log2(e) lse, infinite past its sample's last token, delta, and as integers
/// the first key that it sees, where that is not the row's first, and where probabilities are
/// dropped the key of its draws (DroppedQuery), lower word first.
constexpr int first_key_number = 2, draw_number = 3;
__host__ __device__ constexpr int query_numbers(bool drops) { return drops ? 5 : 3; }

/// Writes statistics[B * H, query_tiles, query_numbers(), 64], and delta[B, H, T] where it is not
/// null. Counters of turns[B * H * query_tiles + 1] become 0. Head / 8 threads a row of out[B, T,
/// H, head_size], which has at most Head elements. `dropout`: without positions none.
template <int Head>
__global__ void __launch_bounds__(256)
    row_statistics(ConstRows out, ConstRows d_out, const float* lse, float* statistics, int* turns,
                   float* delta, int batch, int tokens, int heads, int head_size, int query_tiles,
                   Spans spans, const std::int32_t* lengths, AttentionDropout dropout) {
  constexpr int lanes = Head / 8;
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x) / lanes;
  const int lane = threadIdx.x % lanes, padded = query_tiles * tile_queries,
            head = static_cast<int>(i % heads), token = static_cast<int>(i / heads % padded),
            sample = static_cast<int>(i / heads / padded);
  if (sample >= batch) return;  // all of a row together
  const bool real = token < (lengths ? lengths[sample] : tokens);
  float sum = 0;
  if (real && 8 * lane < head_size) {
    const auto eight = [&](const ConstRows& rows) {
      return *reinterpret_cast<const uint4*>(rows.data + sample * rows.batch + token * rows.token +
                                             head * rows.head + 8 * lane);
    };
    const uint4 x = eight(out), y = eight(d_out);
    const auto add = [&](std::uint32_t a, std::uint32_t b) {
      sum = fmaf(__uint_as_float(a << 16), __uint_as_float(b << 16), sum);
      sum = fmaf(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u), sum);
    };
    add(x.x, y.x), add(x.y, y.y), add(x.z, y.z), add(x.w, y.w);
  }
  const unsigned mask = ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
  for (int other = lanes / 2; other > 0; other /= 2) sum += __shfl_xor_sync(mask, sum, other);
  if (lane > 0) return;
  const std::int64_t row = static_cast<std::int64_t>(sample) * heads + head,
                     tile = row * query_tiles + token / tile_queries;
  float* const to = statistics + tile * query_numbers(dropout.positions) * tile_queries +
                    token % tile_queries;
  to[0] = real ? lse[row * tokens + token] * 1.44269504088896f : INFINITY;
  to[tile_queries] = sum;
  if (delta && token < tokens) delta[row * tokens + token] = sum;
  if (!spans.is_whole())
    to[first_key_number * tile_queries] = __int_as_float(spans.first_key(sample, token));
  if (dropout.positions) {
    const std::uint64_t key = dropped_query(dropout, dropout.positions[sample], head, token).key;
    to[draw_number * tile_queries] = __uint_as_float(static_cast<std::uint32_t>(key));
    to[(draw_number + 1) * tile_queries] = __uint_as_float(static_cast<std::uint32_t>(key >> 32));
  }
  if (token % tile_queries == 0) turns[tile] = 0;
  if (i == 0) turns[static_cast<std::int64_t>(batch) * heads * query_tiles] = 0;
}

}  // namespace trainx::kernels::hopper
