// The walk of a search where times are not known.
#pragma once
#include "plan/choose/settler.hpp"

namespace trainx::plan {

/// One mode, one set of things on the host: the least recomputation, then the micro-batch that
/// fills the machine.
class UntimedWalk {
 public:
  UntimedWalk(Search& search, const Space& space)
      : search_(search),
        space_(space),
        finds_(search, space, 1),
        cells_(search, space),
        settler_(search, space, cells_, finds_) {}
  Found find();

 private:
  /// Levels of all layers alone, by memory: about the least recomputation with which the cell
  /// fits.
  std::optional<int> guessed_depth(const Cell& cell);
  /// The most recomputation that leaves anything to copy, and with which the cell fits.
  std::optional<int> deepest_level(const Cell& cell);

  Search& search_;
  const Space& space_;
  Finds finds_;
  Cells cells_;
  Settler settler_;
};

}  // namespace trainx::plan
