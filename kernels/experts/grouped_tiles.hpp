// Where the elements of a grouped product's tiles lie: which tile a thread block computes, which
// piece of it a thread copies, where a lane reads its part of a fragment. A piece is 8 neighbouring
// elements of 16 bits, what cp.async and a row of ldmatrix move. Host and device: a test on the
// host walks through a product with these functions.
#pragma once
#include "kernels/host_device.hpp"
#include <cstdint>

namespace trainx::kernels::grouped {

constexpr int depth = 32;  // of a tile along the sum
constexpr int piece = 8;
constexpr int pieces_along = depth / piece;

/// Operands lie with neighbours along the sum (rows are of what is beside it), or across it.
enum class Layout : std::uint8_t { along, across };

/// A piece of a tile: row and piece within the row, as the operand lies in memory.
struct PieceAt {
  int row, column;
};
/// Pieces of a row of the tile, which is `width` wide beside the sum.
template <Layout layout, int width>
constexpr int row_pieces = layout == Layout::along ? pieces_along : width / piece;

/// The piece that number i of all copies.
template <Layout layout, int width>
TRAINX_HOST_DEVICE PieceAt piece_at(int i) {
  constexpr int pieces = row_pieces<layout, width>;
  return {i / pieces, i % pieces};
}

/// Where a piece lies in shared memory, in pieces. Pieces change places so that the 8 rows that
/// ldmatrix reads at once, and what 8 threads write, are in all 32 banks: rows along the sum are
/// half a line of the banks, others are whole lines.
template <Layout layout, int width>
TRAINX_HOST_DEVICE int place_of(PieceAt p) {
  if (layout == Layout::along) return p.row * pieces_along + (p.column ^ (p.row >> 1 & 3));
  return p.row * (width / piece) + (p.column ^ (p.row & 7));
}

/// The row of ldmatrix that a lane points to, for 16 rows of the left operand from `first` on and
/// 16 along the sum from k on. Matrices: (rows 0, k 0), (rows 8, k 0), (rows 0, k 8), (rows 8, k
/// 8). Layout::across is read transposed.
template <Layout layout>
TRAINX_HOST_DEVICE PieceAt left_piece(int first, int k, int lane) {
  const int low = lane & 7, second = lane >> 3 & 1, upper = lane >> 4;
  if (layout == Layout::along) return {first + 8 * second + low, k / piece + upper};
  return {k + 8 * upper + low, first / piece + second};
}
/// The same for 16 columns of the right operand: (columns 0, k 0), (columns 0, k 8), (columns 8, k
/// 0), (columns 8, k 8).
template <Layout layout>
TRAINX_HOST_DEVICE PieceAt right_piece(int first, int k, int lane) {
  const int low = lane & 7, second = lane >> 3 & 1, upper = lane >> 4;
  if (layout == Layout::along) return {first + 8 * upper + low, k / piece + second};
  return {k + 8 * second + low, first / piece + upper};
}

/// A warp's 64 x 64 sums on their way to memory: where a piece of a row lies, in pieces.
TRAINX_HOST_DEVICE int staged_place(int row, int column) { return row * 8 + (column ^ (row & 7)); }

/// Tiles of rows that there may be, however R rows are spread over the experts.
TRAINX_HOST_DEVICE std::int64_t most_row_tiles(std::int64_t rows, std::int64_t experts,
                                               int tile_rows) {
  return rows / tile_rows + (experts < rows ? experts : rows);
}

struct TileAt {
  int row, column;
};
/// The tile of block i: bands of tiles of rows, so that blocks that run at once share operands.
template <int band = 8>
TRAINX_HOST_DEVICE TileAt tile_at(std::int64_t i, int row_tiles, int column_tiles) {
  const std::int64_t of_band = static_cast<std::int64_t>(band) * column_tiles;
  const int first = static_cast<int>(i / of_band) * band, inside = static_cast<int>(i % of_band),
            rows = row_tiles - first < band ? row_tiles - first : band;
  return {first + inside % rows, inside / rows};
}

}  // namespace trainx::kernels::grouped
