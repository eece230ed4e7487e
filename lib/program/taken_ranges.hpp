// Which bytes of an arena are taken when: the question that placing a buffer asks.
#pragma once
#include "program/memory.hpp"
#include <memory>
#include <memory_resource>
#include <span>

namespace trainx::program {

/// A segment tree over positions. Each node merges the spans of bytes taken in its positions:
/// stacked activations become one span, so that a query takes logarithmic time, not a scan of all
/// buffers.
class TakenRanges {
 public:
  /// `positions`: of the whole program. Spans end at multiples of `alignment`.
  TakenRanges(std::size_t positions, Bytes alignment);

  void take(Range bytes, std::span<const Interval> when);
  /// The lowest place from `bottom` on where `size` bytes are free at all these times.
  /// It is `bottom`, or a multiple of the alignment behind a taken range.
  Bytes lowest_free(Bytes bottom, Bytes size, std::span<const Interval> when);

 private:
  using Spans = std::pmr::vector<Range>;  // ascending, neither touching nor overlapping
  struct Node {
    explicit Node(std::pmr::memory_resource* memory) : throughout(memory), at_times(memory) {}
    Spans throughout;  // taken by intervals that cover all positions of the node
    Spans at_times;    // taken at some position of the node
  };
  static void add(Spans& spans, Range span);
  void take(std::size_t node, int first, int last, Range span, const Interval& when);
  void collect(std::size_t node, int first, int last, const Interval& when);

  int positions_;
  Bytes alignment_;
  // spans are many, small and die together
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
  std::vector<Node> nodes_;               // node k has the children 2k and 2k + 1; 1 is the root
  std::vector<const Spans*> in_the_way_;  // of one query
};

}  // namespace trainx::program
