// Which bytes of an arena are taken when: the question that placing a buffer asks.
#pragma once
#include "program/memory.hpp"

namespace trainx::program {

/// A segment tree over positions. Each node merges the spans of bytes taken in its positions:
/// stacked activations become one span, so that a query takes logarithmic time, not a scan of all
/// buffers.
class TakenRanges {
 public:
  /// `positions`: of the whole program. Spans end at multiples of `alignment`.
  TakenRanges(std::size_t positions, Bytes alignment);

  void take(Range bytes, const std::vector<Interval>& when);
  /// The lowest place from `bottom` on where `size` bytes are free at all these times.
  /// It is `bottom`, or a multiple of the alignment behind a taken range.
  Bytes lowest_free(Bytes bottom, Bytes size, const std::vector<Interval>& when) const;

 private:
  using Spans = std::vector<Range>;  // ascending, neither touching nor overlapping
  struct Node {
    Spans throughout;  // taken by intervals that cover all positions of the node
    Spans at_times;    // taken at some position of the node
  };
  static void add(Spans& spans, Range span);
  void take(std::size_t node, int first, int last, Range span, const Interval& when);
  void collect(std::size_t node, int first, int last, const Interval& when,
               std::vector<const Spans*>& out) const;

  int positions_;
  Bytes alignment_;
  std::vector<Node> nodes_;  // node k has the children 2k and 2k + 1; 1 is the root
};

}  // namespace trainx::program
