#include "hardware/hopper.hpp"
#include "program/tiles.hpp"
#include "program/time.hpp"
#include "support/catch.hpp"
#include <cmath>

namespace tiles_test {

using namespace trainx::program;
using trainx::DType;

namespace {

/// 100 multiprocessors of 1e12 each, no limit of power, nothing lost at edges.
const TileRates even{100, 1e14, 0,    1e18,
                     0.5, 0.25, 1e18, trainx::hardware::hopper_tiles(1).choices};
constexpr double tile_s(double m, double n, double k) { return 2 * m * n * k / 1e12; }

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * b; }

}  // namespace

TEST_CASE("a last wave that is not full takes as long as a full one") {
  // 64 columns leave tiles of 64 columns as the fastest; k is too short to be split.
  const TiledProduct full = tiled_product(100 * 128, 64, 512, 16, even),
                     over = tiled_product(100 * 128 + 1, 64, 512, 16, even);
  CHECK(close(full.seconds, 100 * tile_s(128, 64, 512) / 100));
  CHECK(full.waves == std::floor(full.waves));
  CHECK(full.lost_s < 1e-12);
  CHECK(over.seconds > full.seconds);
  CHECK(over.lost_s > 0);
  CHECK(close(over.seconds - over.lost_s, full.seconds * (100 * 128 + 1) / (100 * 128)));
}

TEST_CASE("where tiles were not measured a product takes the time of its FLOPs") {
  TileRates unknown = even;
  unknown.are_measured = false;
  const TiledProduct full = tiled_product(100 * 128, 64, 512, 16, unknown),
                     over = tiled_product(100 * 128 + 1, 64, 512, 16, unknown);
  CHECK(close(over.seconds / full.seconds, (100 * 128 + 1.0) / (100 * 128)));
  CHECK(over.lost_s < 1e-12);
  // rows off 16 bytes are slower everywhere
  CHECK(tiled_product(100 * 128, 64, 512, 2, unknown).seconds > full.seconds);
  // too few tiles for all multiprocessors
  const TiledProduct few = tiled_product(64, 64, 64, 16, unknown);
  CHECK(few.seconds > tile_s(64, 64, 64) / 100);
}

TEST_CASE("few tiles are split along k, so that more multiprocessors are busy") {
  const TiledProduct t = tiled_product(128, 128, 65536, 16, even);
  CHECK(t.splits == 8);
  CHECK(t.seconds < tile_s(64, 96, 65536));
  CHECK(tiled_product(128, 128, 1000, 16, even).splits == 1);
}

TEST_CASE("the power limit hides waves that are nearly full, and no emptier ones") {
  TileRates limited = even;
  limited.sustained_flops_per_s = 0.8e14;
  // 100 tiles of 128 x 128, or fewer, larger ones
  const double flops = 2.0 * 1600 * 1024 * 4096;
  const TiledProduct t = tiled_product(1600, 1024, 4096, 16, limited);
  CHECK(t.seconds >= flops / 0.8e14 * (1 - 1e-9));
  CHECK(close(t.lost_s, t.seconds - flops / 0.8e14));
}

TEST_CASE("the power limit does not hold a product down while its kernel begins and ends") {
  TileRates limited = even;
  limited.sustained_flops_per_s = 0.8e14;
  const double alone_s = tiled_product(1600, 1024, 4096, 16, limited).seconds,
               waves_s = tiled_product(1600, 1024, 4096, 16, even).seconds;
  REQUIRE(alone_s > waves_s);
  limited.kernel_s = (alone_s - waves_s) / 2;
  CHECK(close(tiled_product(1600, 1024, 4096, 16, limited).seconds, alone_s - limited.kernel_s));
  limited.kernel_s = 2 * (alone_s - waves_s);
  CHECK(close(tiled_product(1600, 1024, 4096, 16, limited).seconds, waves_s));
}

TEST_CASE("operands that lie transposed take longer, which no other size mends") {
  TileRates rates = even;
  rates.share_of_transposed = 0.5;
  const TiledProduct plain = tiled_product(100 * 128, 64, 512, 16, rates),
                     transposed = tiled_product(100 * 128, 64, 512, 16, rates, true);
  CHECK(close(transposed.seconds, 2 * plain.seconds));
  CHECK(transposed.lost_s < 1e-12);
}

TEST_CASE("kernels of fp32 have tiles and splits of their own") {
  TileRates rates = even;
  rates.choices = trainx::hardware::hopper_fp32_tiles(1).choices;
  rates.multiprocessors = 3;
  const TiledProduct split = tiled_product(64, 64, 3 * 256, 16, rates);
  CHECK(split.splits == 3);  // which the others are not split into
  CHECK(close(split.seconds, 2.0 * 64 * 64 * 256 * 3 / rates.flops_per_s +
                                 64 * 64 * 4.0 * 4 / rates.memory_bytes_per_s));
  for (const std::int64_t m : {64, 65, 1000})
    for (const std::int64_t n : {64, 200, 3072}) {
      const TiledProduct t = tiled_product(m, n, 256, 16, rates);
      CAPTURE(m, n);
      CHECK(t.tile_m % 64 == 0);
      CHECK(t.tile_n % 64 == 0);
      CHECK(t.splits == 1);
    }
}

TEST_CASE("rows that are no multiple of 16 bytes are computed slower, and the loss says so") {
  const TiledProduct aligned = tiled_product(4096, 1024, 1024, 16, even);
  for (const auto& [alignment, times] : {std::pair{8, 2.0}, {4, 2.0}, {2, 4.0}}) {
    CAPTURE(alignment);
    const TiledProduct off = tiled_product(4096, 1024, 1024, alignment, even);
    CHECK(close(off.seconds, times * aligned.seconds));
    CHECK(close(off.lost_s, aligned.lost_s + (times - 1) * aligned.seconds));
  }
  CHECK(Gemm{4096, 1024, 1024}.row_alignment(DType::bf16) == 16);
  // rows of any number
  CHECK(Gemm{4097, 1024, 1024}.row_alignment(DType::bf16) == 16);
  CHECK(Gemm{4096, 1025, 1024}.row_alignment(DType::bf16) == 2);
  CHECK(Gemm{4096, 1024, 1020}.row_alignment(DType::bf16) == 8);
  CHECK(Gemm{4096, 1022, 1020}.row_alignment(DType::bf16) == 4);
  CHECK(Gemm{4096, 1024, 1020}.row_alignment(DType::f32) == 16);
  CHECK(Gemm{.m = 1024, .n = 1024, .k = 4097, .a_transposed = true}.row_alignment(DType::bf16) ==
        16);
  CHECK(Gemm{.m = 1025, .n = 1024, .k = 4096, .a_transposed = true}.row_alignment(DType::bf16) ==
        2);
}

}  // namespace tiles_test
