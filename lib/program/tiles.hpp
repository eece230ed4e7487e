// What a matrix product takes on a GPU beyond its FLOPs: its result is made in tiles, one for a
// multiprocessor at a time, so that the last wave of tiles leaves multiprocessors idle, and tiles
// reach over the result's edges.
#pragma once
#include <cstdint>
#include <span>

namespace trainx::program {

struct Tile {
  int n, m;
};
/// What a library's kernels choose from.
struct TileChoices {
  std::span<const Tile> tiles;
  std::span<const int> splits;     // of k
  std::int64_t shortest_part = 0;  // of k
};

/// Measured; without multiprocessors nothing is known about tiles.
struct TileRates {
  int multiprocessors = 0;
  // of all of them, on tiles so large that loading operands is nothing
  double flops_per_s = 0;
  double edge = 0;  // a tile of a x b runs at 1 / (1 + edge (1/a + 1/b)) of it
  // what the power limit allows: a product that keeps multiprocessors idle is not held down by it
  double sustained_flops_per_s = 0;
  // of the speed, where rows are whole multiples of 4 or of 2 bytes alone, not of 16: kernels of an
  // older kind compute those
  double share_of_4 = 1, share_of_2 = 1;
  double memory_bytes_per_s = 0;  // where the sum is split, its parts go through memory
  const TileChoices* choices = nullptr;
  // until all multiprocessors are busy, and while they no longer are: not in a product's seconds,
  // but time in which the power limit does not hold it down
  double kernel_s = 0;
  // of the speed, where A lies transposed: tensor cores take tf32 only along k, other operands are
  // turned on their way
  double share_of_transposed = 1;
  // else which tiles the library takes is not known: a product takes what its FLOPs take on the
  // best of `choices`, however its sizes divide by them
  bool are_measured = true;
  bool operator==(const TileRates&) const = default;
};

/// C[m, n] = A[m, k] B[k, n], rows whole multiples of `row_alignment` bytes, as the fastest choice
/// of tiles and of splits of k would compute it. `a_transposed`: A lies as [k, m].
struct TiledProduct {
  double seconds = 0;
  // of seconds: against multiprocessors that are all busy to the end, on aligned rows
  double lost_s = 0;
  int tile_m = 0, tile_n = 0, splits = 1;
  // tiles over multiprocessors; the last, partial one takes as long as a full one
  double waves = 0;
};
TiledProduct tiled_product(std::int64_t m, std::int64_t n, std::int64_t k,
                           std::int64_t row_alignment, const TileRates& rates,
                           bool a_transposed = false);

}  // namespace trainx::program
