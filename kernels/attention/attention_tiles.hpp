// How an attention kernel is cut into tiles: by head size, size of an element, the number of blocks
// and the shared memory of the device.
#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/shared_memory.hpp"
#include <cstdint>

namespace trainx::kernels {

namespace tiles {
constexpr int row_warps = 4, streamed_rows = 32;
/// Elements from a row of a tile to the next.
constexpr int stride_of(int width) { return width + 8; }
}  // namespace tiles

enum class AttentionPass : std::uint8_t { forward, query_gradient, key_value_gradient };

/// Heads of up to `Width` elements. A block has `Slices` times `Warps` warps of rows, a warp 16
/// times `RowTiles` rows.
template <int Width, int Slices, int RowTiles, int Warps>
struct AttentionTiles {
  static constexpr int width = Width, slices = Slices, row_tiles = RowTiles, warps = Warps;

  /// Pairs of streamed tiles. With two, one is copied while the other is worked on; few warps are
  /// for where shared memory has no room for that, and backward by 64 of 16 rows a warp has blocks
  /// side by side instead.
  static constexpr int pairs(AttentionPass pass) {
    if (pass == AttentionPass::forward) return Warps == 1 ? 1 : 2;
    if (Warps != tiles::row_warps) return 1;
    if (pass == AttentionPass::query_gradient) return Width == 128 || RowTiles == 2 ? 2 : 1;
    return Width <= 128 ? 2 : 1;
  }
  static constexpr int shared_bytes(AttentionPass pass, int element_bytes) {
    const int block_rows = 16 * RowTiles * Warps * (pass == AttentionPass::forward ? 1 : 2),
              streamed = 2 * pairs(pass) * Slices * tiles::streamed_rows;
    return (block_rows + streamed) * tiles::stride_of(Width) * element_bytes;
  }
};

/// visit(the first of these tiles that have room in a block's `shared_bytes`). The last always
/// have.
template <AttentionPass Pass, int ElementBytes, class First, class... Others, class Visit>
auto first_with_room(int shared_bytes, Visit visit) {
  constexpr int bytes = First::shared_bytes(Pass, ElementBytes);
  if constexpr (bytes <= least_shared_bytes) {
    return visit(First{});
  } else {
    static_assert(sizeof...(Others) > 0, "these tiles have no room on some GPUs");
    return bytes <= shared_bytes
               ? visit(First{})
               : first_with_room<Pass, ElementBytes, Others...>(shared_bytes, visit);
  }
}

/// Are there so few blocks of `rows` rows that each has a multiprocessor almost for itself?
inline bool few_blocks(const AttentionSize& size, int rows, int multiprocessors) {
  return (size.tokens + rows - 1) / rows * size.heads * size.batch <= multiprocessors;
}

/// visit(AttentionTiles<...>{}), of a device with so many multiprocessors and so much shared memory
/// for a block.
template <AttentionPass Pass, int ElementBytes, class Visit>
auto with_attention_tiles(const AttentionSize& size, int multiprocessors, int shared_bytes,
                          Visit visit) {
  constexpr int warps = tiles::row_warps, rows = 16 * warps;
  if (size.head_size > 128)
    return first_with_room<Pass, ElementBytes, AttentionTiles<256, 1, 1, warps>,
                           AttentionTiles<256, 1, 1, 1>>(shared_bytes, visit);
  if (size.head_size > 64)
    return first_with_room<Pass, ElementBytes, AttentionTiles<128, 1, 1, warps>,
                           AttentionTiles<128, 1, 1, 2>>(shared_bytes, visit);
  using Whole = AttentionTiles<64, 1, 1, warps>;
  if (few_blocks(size, rows, multiprocessors))
    return first_with_room<Pass, ElementBytes, AttentionTiles<64, 2, 1, warps>, Whole>(shared_bytes,
                                                                                       visit);
  if constexpr (ElementBytes == 2) {
    return first_with_room<Pass, ElementBytes, Whole>(shared_bytes, visit);
  } else {
    // reading shared memory and rounding are what floats wait for: right operands serve twice the
    // rows
    using Twice = AttentionTiles<64, 1, 2, warps>;
    if (few_blocks(size, 2 * rows, multiprocessors))
      return first_with_room<Pass, ElementBytes, AttentionTiles<64, 2, 2, warps>, Twice, Whole>(
          shared_bytes, visit);
    return first_with_room<Pass, ElementBytes, Twice, Whole>(shared_bytes, visit);
  }
}

}  // namespace trainx::kernels
