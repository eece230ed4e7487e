// How the queries and keys of a row lie over the threads of a block, for norms of their groups.
#pragma once
#include "kernels/eight.cuh"
#include "kernels/norm/head_norm.hpp"
#include <type_traits>

namespace trainx::kernels {

/// A row's groups take slots of eight columns, group by group. Narrow groups take a power of two of
/// them, at most a warp's, so that a warp sums them by itself; wide ones whole warps.
struct HeadSlots {
  bool wide;
  int lanes[2];   // slots of a group of queries, of keys
  int groups[2];  // of queries, of keys
  int size[2];    // columns of a group
  int slots, columns, normed_columns;
  std::int64_t rows;
  // An index that is no constant would put the arrays into slow local memory.
  __device__ int size_of(int part) const { return part == 0 ? size[0] : size[1]; }
};

inline HeadSlots slots_of(const HeadNormShape& s) {
  HeadSlots h{};
  h.wide = s.whole || s.head_size > 256;
  const auto size = static_cast<int>(s.head_size), queries = static_cast<int>(s.query_heads),
             keys = static_cast<int>(s.key_value_heads);
  const int heads[2] = {queries, keys};
  for (int part = 0; part < 2; ++part) {
    h.groups[part] = s.whole ? 1 : heads[part];
    h.size[part] = s.whole ? heads[part] * size : size;
    const int pieces = (h.size[part] + 7) / 8;
    h.lanes[part] = h.wide ? (pieces + 31) / 32 * 32 : 1;
    while (h.lanes[part] < pieces) h.lanes[part] *= 2;
    h.slots += h.groups[part] * h.lanes[part];
  }
  h.columns = static_cast<int>(s.columns());
  h.normed_columns = static_cast<int>(s.normed_columns());
  h.rows = s.rows;
  return h;
}

/// One of a thread's slots, the same in every row.
struct HeadSlot {
  int part = 1, group = 0;        // queries or keys; counted over both
  int column = 0, count = 0;      // first column of the row, and how many; 0: nobody's slot
  int of_group = 0, of_part = 0;  // first column in its group, and of all queries or keys
  int first_warp = 0, warps = 0;  // of a wide group, in warps of slots
};

__device__ __forceinline__ HeadSlot head_slot(const HeadSlots& h, int slot) {
  HeadSlot s;
  if (slot >= h.slots) return s;
  const int queries = h.groups[0] * h.lanes[0];
  s.part = slot >= queries ? 1 : 0;
  const int lanes = s.part == 0 ? h.lanes[0] : h.lanes[1], size = h.size_of(s.part),
            first = s.part == 0 ? 0 : queries, g = (slot - first) / lanes,
            lane = slot - first - g * lanes;
  s.group = g + (s.part == 0 ? 0 : h.groups[0]);
  s.of_group = 8 * lane;
  s.of_part = g * size + s.of_group;
  s.column = s.of_part + (s.part == 0 ? 0 : h.groups[0] * h.size[0]);
  const int left = size - s.of_group;
  s.count = left < 0 ? 0 : left < 8 ? left : 8;
  s.first_warp = (first + g * lanes) / 32;
  s.warps = lanes / 32;
  return s;
}

/// `vectors` slots a thread, `width` threads a row, `rows` rows at once.
template <int vectors_, int width_, int rows_>
struct HeadBlock {
  static constexpr int vectors = vectors_, width = width_, rows = rows_, threads = width * rows;
  static constexpr int warps = vectors * width / 32;  // of a row's slots
  // of shared memory, for `n` sums
  template <int n>
  static constexpr int shared_floats = 2 * rows* warps* n;

  __device__ static int row_of_block() { return static_cast<int>(threadIdx.x) / width; }
  __device__ static int slot(int v) { return v * width + static_cast<int>(threadIdx.x) % width; }

  /// Sums over the group of each slot, the same in all its slots. All threads of the block call it.
  /// `turn` alternates between two halves of `shared`, so that one barrier is enough.
  template <bool wide, int n>
  __device__ static void sum(float (&x)[vectors][n], const HeadSlots& h,
                             const HeadSlot (&slots)[vectors], float* shared, int& turn) {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      // narrow groups of queries and of keys are as wide
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        if (wide || offset < h.lanes[0]) {
#pragma unroll
          for (int i = 0; i < n; ++i) x[v][i] += __shfl_xor_sync(0xffffffffu, x[v][i], offset);
        }
      }
    }
    if constexpr (wide) {
      float* const mine = shared + (turn * rows + row_of_block()) * warps * n;
      turn ^= 1;
      if (threadIdx.x % 32 == 0) {
#pragma unroll
        for (int v = 0; v < vectors; ++v)
#pragma unroll
          for (int i = 0; i < n; ++i) mine[slot(v) / 32 * n + i] = x[v][i];
      }
      __syncthreads();
#pragma unroll
      for (int v = 0; v < vectors; ++v)
#pragma unroll
        for (int i = 0; i < n; ++i) {
          float total = 0;
          for (int w = 0; w < slots[v].warps; ++w) total += mine[(slots[v].first_warp + w) * n + i];
          x[v][i] = total;
        }
    }
  }
};

/// Columns behind queries and keys, as they are.
template <bool aligned, class Block, class T>
__device__ __forceinline__ void copy_values(T* to, const T* from, const HeadSlots& h) {
  for (int c = h.normed_columns + 8 * Block::slot(0); c < h.columns; c += 8 * Block::width)
    store8<aligned>(to + c, load8<aligned>(from + c, h.columns - c), h.columns - c);
}

inline bool eights(const HeadNormShape& s) { return s.head_size % 8 == 0; }
constexpr std::int64_t most_head_slots = 4096;

/// Calls f with the smallest HeadBlock that holds the slots, of few where speed matters less, and
/// with std::bool_constant: whether groups are wide, whether pieces are aligned.
template <class F>
cudaError_t with_head_block(const HeadSlots& h, bool aligned, F f) {
  constexpr std::true_type yes;
  constexpr std::false_type no;
  if (h.slots > most_head_slots) return cudaErrorInvalidValue;
  if (!aligned) {
    if (h.slots <= 1024)
      return h.wide ? f(HeadBlock<4, 256, 1>{}, yes, no) : f(HeadBlock<4, 256, 1>{}, no, no);
    return h.wide ? f(HeadBlock<8, 512, 1>{}, yes, no) : f(HeadBlock<8, 512, 1>{}, no, no);
  }
  if (h.wide) {
    if (h.slots <= 512) return f(HeadBlock<2, 256, 1>{}, yes, yes);
    if (h.slots <= 1024) return f(HeadBlock<4, 256, 1>{}, yes, yes);
    return f(HeadBlock<8, 512, 1>{}, yes, yes);
  }
  if (h.slots <= 128) return f(HeadBlock<1, 128, 2>{}, no, yes);
  if (h.slots <= 256) return f(HeadBlock<1, 256, 1>{}, no, yes);
  if (h.slots <= 512) return f(HeadBlock<2, 256, 1>{}, no, yes);
  if (h.slots <= 1024) return f(HeadBlock<4, 256, 1>{}, no, yes);
  return f(HeadBlock<8, 512, 1>{}, no, yes);
}

}  // namespace trainx::kernels
