#include "program/tiles.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::program {
namespace {

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

/// Whole ones where tiles are known, else so many as hold the result.
double tiles_of(std::int64_t m, std::int64_t n, Tile tile, bool whole) {
  if (whole) return static_cast<double>(parts(m, tile.m) * parts(n, tile.n));
  return static_cast<double>(m) * static_cast<double>(n) / (1.0 * tile.m * tile.n);
}

}  // namespace

TiledProduct tiled_product(std::int64_t m, std::int64_t n, std::int64_t k,
                           std::int64_t row_alignment, const TileRates& rates, bool a_transposed) {
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                       static_cast<double>(k),
               processors = rates.multiprocessors;
  const double sustained_s = flops / rates.sustained_flops_per_s - rates.kernel_s;
  const TileChoices& choices = *rates.choices;
  TiledProduct best;
  for (const Tile tile : choices.tiles) {
    const double rate = rates.flops_per_s / (1 + rates.edge * (1.0 / tile.m + 1.0 / tile.n));
    for (const int splits : choices.splits) {
      if (splits > 1 && k / splits < choices.shortest_part) continue;
      const double waves = tiles_of(m, n, tile, rates.are_measured) * splits / processors;
      const double wave_s = 2.0 * tile.m * tile.n * (static_cast<double>(k) / splits) * processors /
                            rate;
      const double parts_s =
          splits > 1 ? static_cast<double>(m * n) * 4 * (splits + 1) / rates.memory_bytes_per_s : 0;
      // a product with less than a wave leaves multiprocessors idle, whatever its tiles
      const double full_waves = rates.are_measured ? std::ceil(waves) : std::max(1.0, waves);
      const double seconds = std::max(full_waves * wave_s + parts_s, sustained_s);
      if (best.tile_m > 0 && seconds >= best.seconds) continue;
      const double busy_s = std::max(flops / rate, sustained_s);
      best = {seconds, seconds - busy_s, tile.m, tile.n, splits, waves};
    }
  }
  if (a_transposed) {  // no loss: it is so for any sizes
    best.seconds /= rates.share_of_transposed;
    best.lost_s /= rates.share_of_transposed;
  }
  if (row_alignment < 16) {
    const double slower_s = best.seconds *
                            (1 / (row_alignment < 4 ? rates.share_of_2 : rates.share_of_4) - 1);
    best.seconds += slower_s;
    best.lost_s += slower_s;
  }
  return best;
}

}  // namespace trainx::program
