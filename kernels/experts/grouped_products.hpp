// The three products of a linear layer of each expert as one: C = A B over tiles, A and B in either
// layout; either A's rows or the sum is cut by expert.
#pragma once
#include "kernels/experts/grouped_linear.hpp"
#include "kernels/experts/grouped_tiles.hpp"

namespace trainx::kernels::grouped {

/// What is cut by expert: rows of A and C, with a B of each; or the rows that are summed over, with
/// a C of each.
enum class Cut : std::uint8_t { rows, sum };

template <class T, class Result>
struct Products {
  const std::int32_t* offsets;
  int experts;
  std::int64_t m, n, k;  // Cut::rows: m of all experts; Cut::sum: k of all
  const T* a;
  const T* b;
  Result* c;
  std::int64_t lda, ldb, ldc;  // from one row in memory to the next
  std::int64_t of_expert;      // elements of an expert's B, or C
  bool accumulate = false;     // of Cut::sum
  int row_tiles = 0, column_tiles = 0;
};

template <class T>
Products<T, T> products_of(const GroupedLinear<T>& op) {
  const GroupedSizes& s = op.sizes;
  return {s.offsets, static_cast<int>(s.experts),
          s.rows,    s.out,
          s.in,      op.x,
          op.weight, op.y,
          s.in,      s.in,
          s.out,     s.out * s.in};
}
template <class T>
Products<T, T> products_of(const GroupedLinearBackwardInput<T>& op) {
  const GroupedSizes& s = op.sizes;
  return {s.offsets, static_cast<int>(s.experts),
          s.rows,    s.in,
          s.out,     op.dy,
          op.weight, op.dx,
          s.out,     s.in,
          s.in,      s.out * s.in};
}
template <class T>
Products<T, float> products_of(const GroupedLinearBackwardWeight<T>& op) {
  const GroupedSizes& s = op.sizes;
  return {s.offsets,    static_cast<int>(s.experts),
          s.out,        s.in,
          s.rows,       op.dy,
          op.x,         op.d_weight,
          s.out,        s.in,
          s.in,         s.out * s.in,
          op.accumulate};
}

/// Sizes that indices hold, whatever the tiles.
inline bool is_launchable(const GroupedSizes& s) {
  constexpr std::int64_t most = std::int64_t{1} << 31, margin = std::int64_t{1} << 20;
  return s.rows < most - margin && s.experts < 65536 && s.in < most - margin &&
         s.out < most - margin;
}

/// Sets the tiles; the number of blocks, 0: more than a launch has.
template <Cut cut, class P>
std::int64_t blocks_of(P& p, int tile_rows, int tile_columns) {
  const std::int64_t rows = cut == Cut::rows ? most_row_tiles(p.m, p.experts, tile_rows)
                                             : (p.m + tile_rows - 1) / tile_rows,
                     columns = (p.n + tile_columns - 1) / tile_columns,
                     blocks = rows * columns * (cut == Cut::rows ? 1 : p.experts);
  p.row_tiles = static_cast<int>(rows);
  p.column_tiles = static_cast<int>(columns);
  return blocks < (std::int64_t{1} << 31) ? blocks : 0;
}

}  // namespace trainx::kernels::grouped
