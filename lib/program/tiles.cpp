#include "program/tiles.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace trainx::program {
namespace {

struct Tile {
  int n, m;
};

// Those that cuBLASLt picks on Hopper: of the kernels in bench/results/h200/rows
// (nvjet_sm90_..._192x128_...: columns, rows).
constexpr std::array<Tile, 21> hopper_tiles{
    {{128, 160}, {128, 128}, {128, 256}, {256, 128}, {96, 128},  {320, 128}, {128, 192},
     {192, 192}, {176, 128}, {96, 64},   {168, 128}, {64, 128},  {320, 64},  {192, 128},
     {256, 64},  {192, 96},  {64, 96},   {128, 64},  {144, 128}, {128, 96},  {192, 64}}};
constexpr std::array<int, 4> hopper_splits{1, 2, 4, 8};
// Of the kernels in bench/results/h200/guides/rows
// (sm80_xmma_gemm_f32f32_..._tilesize256x128x8_..., split_k; sm90_xmma_gemm_f32f32_tf32f32_...).
constexpr std::array<Tile, 6> fp32_tiles{
    {{64, 64}, {64, 128}, {128, 64}, {128, 128}, {256, 128}, {128, 256}}};
constexpr std::array<int, 8> fp32_splits{1, 2, 3, 4, 5, 6, 7, 8};

struct Choices {
  std::span<const Tile> tiles;
  std::span<const int> splits;
  std::int64_t shortest_part;  // of k
};
Choices choices_of(TileKernels kernels) {
  if (kernels == TileKernels::hopper) return {hopper_tiles, hopper_splits, 512};
  return {fp32_tiles, fp32_splits, 256};
}

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

}  // namespace

TiledProduct tiled_product(std::int64_t m, std::int64_t n, std::int64_t k,
                           std::int64_t row_alignment, const TileRates& rates, bool a_transposed) {
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                       static_cast<double>(k),
               processors = rates.multiprocessors;
  const double sustained_s = flops / rates.sustained_flops_per_s - rates.kernel_s;
  const Choices choices = choices_of(rates.kernels);
  TiledProduct best;
  for (const Tile tile : choices.tiles) {
    const double rate = rates.flops_per_s / (1 + rates.edge * (1.0 / tile.m + 1.0 / tile.n));
    for (const int splits : choices.splits) {
      if (splits > 1 && k / splits < choices.shortest_part) continue;
      const double waves = static_cast<double>(parts(m, tile.m) * parts(n, tile.n) * splits) /
                           processors;
      const double wave_s = 2.0 * tile.m * tile.n * (static_cast<double>(k) / splits) * processors /
                            rate;
      const double parts_s =
          splits > 1 ? static_cast<double>(m * n) * 4 * (splits + 1) / rates.memory_bytes_per_s : 0;
      const double seconds = std::max(std::ceil(waves) * wave_s + parts_s, sustained_s);
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
