// Where the tiles of experts' products on Hopper lie. Host and device: a test on the host walks
// through them.
#pragma once
#include "kernels/experts/grouped_tiles.hpp"
#include "kernels/hopper/tile_sizes.hpp"

namespace trainx::kernels::hopper {

/// Coordinates of a box of `box` rows, of which only the first `valid` exist: those behind are read
/// as zeros and not written, although the tensor goes on there. The map has two dimensions whose
/// strides are a row: `inside`, which ends at `box`, and `from`. Element (inside, from) is row
/// inside + from - box, so that `from` is never negative. A box of which nothing exists is not
/// loaded: that ended with an illegal address where no memory is mapped at the map's beginning,
/// below the rows (H100, H200).
struct ClippedRows {
  int inside, from;
};
template <int box>
TRAINX_HOST_DEVICE ClippedRows clipped_rows(int first, int valid) {
  const int some = valid < 0 ? 0 : valid < box ? valid : box;
  return {box - some, first + some};
}

/// What a block computes next: rows of a result from `row` on and columns from `column` on.
struct Tile {
  int row, column;
  int expert_or_end;  // cut sums: whose result; cut rows: where the expert's rows end
  int steps;          // of tile_depth along the sum; below 0: there is no tile
};

/// Byte of 8 bytes in a stored box of 32 bits: of lane `lane`, in row lane / 4 and 8 rows below,
/// and of columns 8 n and on, where n is `other` for lanes in odd rows. So half a warp writes to
/// all 32 banks at once.
TRAINX_HOST_DEVICE int stored_pair_at(int lane, int n) {
  const int row = lane / 4, t = lane % 4, block = n ^ ((row & 1) << 1);
  return row * 128 + (((2 * block + t / 2) ^ row) << 4) + 8 * (t % 2);
}

}  // namespace trainx::kernels::hopper
