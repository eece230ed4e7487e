// Which of a tensor's elements a rank has.
#pragma once
#include <algorithm>
#include <cstdint>

namespace trainx::program {

/// A tensor's elements from `first` on, as they follow one another; or, with `columns`, so many of
/// each row, from `first` in the first row on. `skipped` are those elements of the slice that a
/// shard's border has left to another rank.
struct Slice {
  std::int64_t first = 0;
  std::int64_t columns = 0, row_elements = 0;  // of a row: in the slice, in the tensor
  std::int64_t skipped = 0;

  /// Calls use(first of the tensor, first of the slice, how many) for what follows one another in
  /// both, of so many elements of the slice.
  template <class Use>
  void for_each_run(std::int64_t elements, const Use& use) const {
    if (columns == 0) return use(first, std::int64_t{0}, elements);
    for (std::int64_t at = 0; at < elements;) {
      const std::int64_t place = skipped + at, column = place % columns,
                         count = std::min(columns - column, elements - at);
      use(first + place / columns * row_elements + column, at, count);
      at += count;
    }
  }
  /// What follows behind so many elements of it.
  Slice behind(std::int64_t elements) const {
    Slice rest = *this;
    (columns == 0 ? rest.first : rest.skipped) += elements;
    return rest;
  }
  bool operator==(const Slice&) const = default;
};

}  // namespace trainx::program
