#include "program/taken_ranges.hpp"
#include <algorithm>
#include <tuple>

namespace trainx::program {
namespace {

/// Calls visit(word, mask) for the words of a row that an interval touches, until it returns true.
template <class Visit>
bool any_word(const Interval& i, const Visit& visit) {
  const auto first = static_cast<std::size_t>(i.first) / 64, last = static_cast<std::size_t>(i.last) / 64;
  const std::uint64_t from_first = ~std::uint64_t{0} << (i.first % 64), to_last = ~std::uint64_t{0} >> (63 - i.last % 64);
  for (std::size_t w = first; w <= last; ++w)
    if (visit(w, (w == first ? from_first : ~std::uint64_t{0}) & (w == last ? to_last : ~std::uint64_t{0}))) return true;
  return false;
}

}  // namespace

void TakenRanges::take(Range bytes, const std::vector<Interval>& when) {
  const auto before = [](const Taken& a, const Range& b) { return std::tie(a.bytes.begin, a.bytes.end) < std::tie(b.begin, b.end); };
  auto at = std::lower_bound(ranges_.begin(), ranges_.end(), bytes, before);
  if (at == ranges_.end() || at->bytes.begin != bytes.begin || at->bytes.end != bytes.end) {
    at = ranges_.insert(at, {bytes, ranges_.size()});
    when_.resize(ranges_.size() * words_);
  }
  std::uint64_t* const row = when_.data() + at->row * words_;
  for (const Interval& i : when) any_word(i, [&](std::size_t w, std::uint64_t mask) { return row[w] |= mask, false; });
}

Bytes TakenRanges::lowest_free(Bytes bottom, Bytes size, Bytes alignment, const std::vector<Interval>& when) const {
  Bytes base = bottom;
  for (const Taken& t : ranges_) {
    if (base + size <= t.bytes.begin) break;
    const Bytes behind = (t.bytes.end + alignment - 1) / alignment * alignment;
    if (behind > base && is_taken(t.row, when)) base = behind;
  }
  return base;
}

bool TakenRanges::is_taken(std::size_t row, const std::vector<Interval>& when) const {
  const std::uint64_t* const taken = when_.data() + row * words_;
  return std::ranges::any_of(when, [&](const Interval& i) { return any_word(i, [&](std::size_t w, std::uint64_t mask) { return (taken[w] & mask) != 0; }); });
}

}  // namespace trainx::program
