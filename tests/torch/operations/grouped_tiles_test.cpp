// The index functions of the GPU's products of experts, walked through on the host: every element
// of a tile is copied once and reaches the lane that mma.m16n8k16 wants it in, without conflicts of
// banks.
#include "kernels/experts/grouped_tiles.hpp"
#include "support/catch.hpp"
#include <array>
#include <random>
#include <set>
#include <vector>

namespace grouped_tiles_test {

using namespace trainx::kernels::grouped;

namespace {

/// Which element of an operand: beside the sum, and along it.
struct Element {
  int other = -1, k = -1;
  bool operator==(const Element&) const = default;
};

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

/// Shared memory with a tile, copied as the kernel copies it.
template <Layout layout, int width>
std::vector<Element> copied_tile() {
  constexpr int pieces = width * pieces_along;
  std::vector<Element> shared(idx(pieces * piece));
  std::vector<int> written(idx(pieces));
  std::set<int> banks;
  for (int i = 0; i < pieces; ++i) {
    const PieceAt p = piece_at<layout, width>(i);
    const int place = place_of<layout, width>(p);
    REQUIRE(place >= 0);
    REQUIRE(place < pieces);
    ++written[idx(place)];
    for (int e = 0; e < piece; ++e) {
      const int column = p.column * piece + e;
      shared[idx(place * piece + e)] = layout == Layout::along ? Element{p.row, column}
                                                               : Element{column, p.row};
    }
    banks.insert(place % 8);
    if (i % 8 < 7) continue;
    CHECK(banks.size() == 8);  // eight threads write to all of them
    banks.clear();
  }
  for (const int times : written) CHECK(times == 1);
  return shared;
}

/// The two elements that a lane gets of each of four matrices; place_of_lane(l): the piece that
/// lane l points to.
template <class Place>
std::array<std::array<std::array<Element, 2>, 4>, 32> load_matrix(
    const std::vector<Element>& shared, bool transposed, Place place_of_lane) {
  std::array<std::array<std::array<Element, 2>, 4>, 32> out;
  for (int m = 0; m < 4; ++m) {
    std::set<int> banks;
    std::array<std::array<Element, 8>, 8> rows;
    for (int r = 0; r < 8; ++r) {
      const int place = place_of_lane(8 * m + r);
      banks.insert(place % 8);
      for (int e = 0; e < 8; ++e) rows[idx(r)][idx(e)] = shared.at(idx(place * piece + e));
    }
    CHECK(banks.size() == 8);
    for (int lane = 0; lane < 32; ++lane)
      for (int e = 0; e < 2; ++e) {
        const int g = lane / 4, t = 2 * (lane % 4) + e;
        out[idx(lane)][idx(m)][idx(e)] = transposed ? rows[idx(t)][idx(g)] : rows[idx(g)][idx(t)];
      }
  }
  return out;
}

template <Layout layout, int width>
void check_operand() {
  const auto shared = copied_tile<layout, width>();
  for (int first = 0; first < width; first += 16)
    for (int k = 0; k < depth; k += 16) {
      const auto left = load_matrix(shared, layout == Layout::across, [&](int lane) {
        return place_of<layout, width>(left_piece<layout>(first, k, lane));
      });
      const auto right = load_matrix(shared, layout == Layout::across, [&](int lane) {
        return place_of<layout, width>(right_piece<layout>(first, k, lane));
      });
      for (int lane = 0; lane < 32; ++lane)
        for (int m = 0; m < 4; ++m)
          for (int e = 0; e < 2; ++e) {
            const int g = lane / 4, along = k + 2 * (lane % 4) + e;
            // a0, a1: rows g and g + 8; a2, a3: the same, 8 further along the sum
            const Element want_left{first + g + 8 * (m % 2), along + 8 * (m / 2)};
            // b0, b1 of columns g, then of columns g + 8
            const Element want_right{first + g + 8 * (m / 2), along + 8 * (m % 2)};
            if (left[idx(lane)][idx(m)][idx(e)] != want_left)
              FAIL("left " << first << " " << k << " lane " << lane << " matrix " << m);
            if (right[idx(lane)][idx(m)][idx(e)] != want_right)
              FAIL("right " << first << " " << k << " lane " << lane << " matrix " << m);
          }
    }
}

}  // namespace

TEST_CASE("fragments of experts' products hold the elements that the tensor cores multiply") {
  check_operand<Layout::along, 128>();
  check_operand<Layout::across, 128>();
  check_operand<Layout::along, 256>();
  check_operand<Layout::across, 256>();
}

TEST_CASE("results of experts' products are staged once each, without conflicts of banks") {
  std::set<int> places;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 8; ++column) places.insert(staged_place(row, column));
  CHECK(places.size() == 64 * 8);
  CHECK(*places.rbegin() == 64 * 8 - 1);
  for (int j = 0; j < 8; ++j) {  // written: words of 4 bytes
    std::set<int> banks;
    for (int lane = 0; lane < 32; ++lane)
      banks.insert((staged_place(lane / 4, j) * 4 + lane % 4) % 32);
    CHECK(banks.size() == 32);
  }
  for (int row = 0; row < 64; ++row) {  // read: 8 lanes a row
    std::set<int> banks;
    for (int column = 0; column < 8; ++column) banks.insert(staged_place(row, column) % 8);
    CHECK(banks.size() == 8);
  }
}

TEST_CASE("blocks compute each tile of experts' products once") {
  for (const int rows : {1, 7, 8, 9, 17, 64})
    for (const int columns : {1, 2, 5, 16}) {
      std::set<std::pair<int, int>> tiles;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows) * columns; ++i) {
        const TileAt t = tile_at(i, rows, columns);
        REQUIRE((t.row >= 0 && t.row < rows && t.column >= 0 && t.column < columns));
        tiles.emplace(t.row, t.column);
      }
      CHECK(tiles.size() == idx(rows * columns));
    }
}

TEST_CASE("there are tiles for every spread of rows over experts") {
  std::mt19937 random(4);
  for (int turn = 0; turn < 2'000; ++turn) {
    const int experts = 1 + static_cast<int>(random() % 9),
              most = 1 + static_cast<int>(random() % 300);
    std::int64_t rows = 0, tiles = 0;
    for (int e = 0; e < experts; ++e) {
      const int some = static_cast<int>(random() % idx(most));
      rows += some;
      tiles += (some + 127) / 128;
    }
    CHECK(tiles <= most_row_tiles(rows, experts, 128));
  }
  CHECK(most_row_tiles(128, 128, 128) == 129);  // a row for each expert takes 128 tiles
}

}  // namespace grouped_tiles_test
