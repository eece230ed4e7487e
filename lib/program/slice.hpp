// Which of a tensor's elements a rank has.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace trainx::program {

/// A tensor's elements from `first` on, as they follow one another; or, with `columns`, so many of
/// each row, from `first` in the first row on; or `runs` of them. `skipped` are those elements of
/// the slice that a shard's border has left to another rank.
struct Slice {
  struct Run {
    std::int64_t first = 0, elements = 0;
    bool operator==(const Run&) const = default;
  };
  std::int64_t first = 0;
  std::int64_t columns = 0, row_elements = 0;  // of a row: in the slice, in the tensor
  std::vector<Run> runs = {};
  std::int64_t skipped = 0;

  bool is_contiguous() const { return columns == 0 && runs.empty(); }

  /// Calls use(first of the tensor, first of the slice, how many) for what follows one another in
  /// both, of so many elements of the slice.
  template <class Use>
  void for_each_run(std::int64_t elements, const Use& use) const {
    if (is_contiguous()) return use(first, std::int64_t{0}, elements);
    const std::int64_t end = skipped + elements;
    std::int64_t before = 0;  // elements of the slice before the run
    const auto part = [&](std::int64_t at, std::int64_t length) {
      const std::int64_t from = std::max(before, skipped), to = std::min(before + length, end);
      if (from < to) use(at + from - before, from - skipped, to - from);
      before += length;
    };
    for (const Run& run : runs) part(run.first, run.elements);
    if (columns == 0) return;
    before = skipped / columns * columns;
    while (before < end) part(first + before / columns * row_elements, columns);
  }
  /// What follows behind so many elements of it.
  Slice behind(std::int64_t elements) const {
    Slice rest = *this;
    (is_contiguous() ? rest.first : rest.skipped) += elements;
    return rest;
  }
  bool operator==(const Slice&) const = default;
};

}  // namespace trainx::program
