#include "program/taken_ranges.hpp"
#include <algorithm>
#include <bit>

namespace trainx::program {

TakenRanges::TakenRanges(std::size_t positions, Bytes alignment)
    : positions_(static_cast<int>(std::bit_ceil(std::max<std::size_t>(positions, 1)))),
      alignment_(alignment),
      memory_(std::make_unique<std::pmr::monotonic_buffer_resource>()) {}

void TakenRanges::add(Spans& spans, Range span) {
  auto first = std::ranges::lower_bound(spans, span.begin, {}, &Range::end);
  auto last = first;
  for (; last != spans.end() && last->begin <= span.end; ++last) {
    span.begin = std::min(span.begin, last->begin);
    span.end = std::max(span.end, last->end);
  }
  if (first == last) {
    spans.insert(first, span);
    return;
  }
  *first = span;
  spans.erase(first + 1, last);
}

void TakenRanges::take(Range bytes, std::span<const Interval> when) {
  if (bytes.begin == bytes.end) return;  // takes nothing
  if (nodes_.empty()) {
    nodes_.reserve(2 * static_cast<std::size_t>(positions_));
    while (nodes_.size() < nodes_.capacity()) nodes_.emplace_back(memory_.get());
  }
  const Range span{bytes.begin, (bytes.end + alignment_ - 1) / alignment_ * alignment_};
  for (const Interval& i : when) take(1, 0, positions_ - 1, span, i);
}

void TakenRanges::take(std::size_t node, int first, int last, Range span, const Interval& when) {
  add(nodes_[node].at_times, span);
  if (when.first <= first && last <= when.last) return add(nodes_[node].throughout, span);
  const int middle = first + (last - first) / 2;
  if (when.first <= middle) take(2 * node, first, middle, span, when);
  if (when.last > middle) take(2 * node + 1, middle + 1, last, span, when);
}

void TakenRanges::collect(std::size_t node, int first, int last, const Interval& when) {
  const Node& n = nodes_[node];
  if (n.at_times.empty()) return;
  if (when.first <= first && last <= when.last) return in_the_way_.push_back(&n.at_times);
  if (!n.throughout.empty()) in_the_way_.push_back(&n.throughout);
  const int middle = first + (last - first) / 2;
  if (when.first <= middle) collect(2 * node, first, middle, when);
  if (when.last > middle) collect(2 * node + 1, middle + 1, last, when);
}

Bytes TakenRanges::lowest_free(Bytes bottom, Bytes size, std::span<const Interval> when) {
  if (size == 0 || nodes_.empty()) return bottom;
  in_the_way_.clear();
  for (const Interval& i : when) collect(1, 0, positions_ - 1, i);
  Bytes base = bottom;
  for (bool moved = true; moved;) {  // until no span is in the way
    moved = false;
    for (const Spans* spans : in_the_way_) {
      auto at = std::ranges::upper_bound(*spans, base, {}, &Range::end);
      for (; at != spans->end() && at->begin < base + size; ++at) {
        base = at->end;
        moved = true;
      }
    }
  }
  return base;
}

}  // namespace trainx::program
