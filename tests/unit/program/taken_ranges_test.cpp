#include "program/taken_ranges.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <random>

namespace taken_ranges_test {

using namespace trainx::program;

TEST_CASE(
    "the lowest place is below, between or behind what is taken at the same time; other times do "
    "not matter") {
  using at = std::vector<Interval>;
  TakenRanges taken(200, 256);
  CHECK(taken.lowest_free(512, 100, at({{0, 199}})) == 512);
  taken.take({512, 700}, at({{0, 63}}));
  taken.take({1024, 1100}, at({{63, 64}, {130, 199}}));
  CHECK(taken.lowest_free(512, 256, at({{64, 64}})) == 512);
  CHECK(taken.lowest_free(512, 256, at({{63, 63}})) == 768);
  CHECK(taken.lowest_free(512, 257, at({{63, 63}})) == 1280);
  CHECK(taken.lowest_free(512, 1000, at({{65, 129}})) == 512);
  CHECK(taken.lowest_free(512, 1000, at({{65, 130}})) == 1280);
  CHECK(taken.lowest_free(512, 1000, at({})) == 512);
  taken.take({512, 700}, at({{129, 129}}));  // the same bytes at another time
  CHECK(taken.lowest_free(512, 256, at({{65, 129}})) == 768);
}

TEST_CASE("a place is the lowest of all, by trying each") {
  constexpr int positions = 150;
  constexpr Bytes alignment = 4;
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  struct Block {
    Range bytes;
    std::vector<Interval> when;
  };
  for (int round = 0; round < 20; ++round) {
    TakenRanges taken(positions, alignment);
    std::vector<Block> blocks;
    for (int k = 0; k < 60; ++k) {
      std::vector<Interval> when;
      for (int n = below(3); n >= 0; --n) {
        const int first = below(positions);
        when.push_back({first, std::min(positions - 1, first + below(70))});
      }
      const Bytes size = below(13);
      const auto is_free = [&](Bytes base) {
        return std::ranges::none_of(blocks, [&](const Block& b) {
          const bool alive = std::ranges::any_of(b.when, [&](const Interval& x) {
            return std::ranges::any_of(
                when, [&](const Interval& y) { return x.first <= y.last && y.first <= x.last; });
          });
          return alive && base < b.bytes.end && b.bytes.begin < base + size;
        });
      };
      Bytes lowest = 8;
      while (!is_free(lowest)) lowest += alignment;
      const Bytes base = taken.lowest_free(8, size, when);
      REQUIRE(base == lowest);
      taken.take({base, base + size}, when);
      blocks.push_back({{base, base + size}, std::move(when)});
    }
  }
}

TEST_CASE("thousands of stacked buffers are placed in well under a second of work") {
  // a scan of all ranges would compare 2e8 pairs, each over 600 words
  constexpr int layers = 20000;
  TakenRanges taken(2 * layers, 256);
  // kept from forward to backward, as a deep model's activations
  for (int k = 0; k < layers; ++k) {
    const std::vector<Interval> when{{k, 2 * layers - 1 - k}};
    REQUIRE(taken.lowest_free(0, 100, when) == 256 * k);
    taken.take({256 * k, 256 * k + 100}, when);
  }
}

}  // namespace taken_ranges_test
