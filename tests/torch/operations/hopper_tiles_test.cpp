// The index functions of the products of experts on Hopper, walked through on the host.
#include "kernels/experts/hopper/hopper_tiles.hpp"
#include "support/catch.hpp"
#include <random>
#include <set>
#include <vector>

namespace hopper_tiles_test {

using namespace trainx::kernels::hopper;
using trainx::kernels::grouped::tile_at;
using trainx::kernels::grouped::TileAt;

namespace {

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

/// Rows of a tensor of `rows` that a box with these coordinates reads; -1: zeros. The map has
/// extents `box` and rows + 1, and begins `box` rows before the tensor.
template <int box>
std::vector<int> rows_of_box(ClippedRows at, int rows) {
  std::vector<int> found;
  for (int i = 0; i < box; ++i) {
    const int inside = at.inside + i;
    const bool exists = inside >= 0 && inside < box && at.from >= 0 && at.from < rows + 1;
    found.push_back(exists ? inside + at.from - box : -1);
  }
  return found;
}

template <int box>
void check_clipped() {
  std::mt19937 random(box);
  for (int turn = 0; turn < 5'000; ++turn) {
    const int rows = 1 + static_cast<int>(random() % 400),
              first = static_cast<int>(random() % idx(rows)),
              end = first + static_cast<int>(random() % idx(rows - first + 1));
    // a box may lie behind the expert's last row
    const int from = first + box * static_cast<int>(random() % 3);
    const std::vector<int> found = rows_of_box<box>(clipped_rows<box>(from, end - from), rows);
    for (int i = 0; i < box; ++i)
      if (found[idx(i)] != (from + i < end ? from + i : -1))
        FAIL("row " << i << " of a box from " << from << " on, to " << end << " of " << rows
                    << ", is " << found[idx(i)]);
  }
}

}  // namespace

TEST_CASE("boxes of experts' products on Hopper end where the expert's rows do") {
  check_clipped<tile_rows>();
  check_clipped<64>();
  check_clipped<stored_rows>();
}

TEST_CASE("results on Hopper are staged once each, without conflicts of banks") {
  std::set<int> places;
  for (int n = 0; n < 4; ++n)
    for (int half_warp = 0; half_warp < 2; ++half_warp) {
      std::set<int> banks;
      for (int lane = 16 * half_warp; lane < 16 * half_warp + 16; ++lane) {
        const int at = stored_pair_at(lane, n), row = lane / 4,
                  block = row % 2 == 0 ? n : n ^ 2,  // of 8 columns
            byte = (8 * block + 2 * (lane % 4)) * 4;
        // the swizzle of 128 bytes
        CHECK(at == row * 128 + ((byte / 16 ^ row) * 16) + byte % 16);
        banks.insert(at / 8 % 16);
        places.insert(at);
      }
      CHECK(banks.size() == 16);
    }
  CHECK(places.size() == 8 * 16);
}

TEST_CASE("blocks on Hopper compute each tile of experts' products once") {
  for (const int rows : {1, 15, 16, 17, 40})
    for (const int columns : {1, 3, 8}) {
      std::set<std::pair<int, int>> tiles;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows) * columns; ++i) {
        const TileAt t = tile_at<16>(i, rows, columns);
        REQUIRE((t.row >= 0 && t.row < rows && t.column >= 0 && t.column < columns));
        tiles.emplace(t.row, t.column);
      }
      CHECK(tiles.size() == idx(rows * columns));
    }
}

}  // namespace hopper_tiles_test
