// What follows exactly from a cell: the least recomputation with which it fits, shares of the
// optimizer and how long gathered weights stay.
#pragma once
#include "plan/choose/cells.hpp"
#include "plan/choose/finds.hpp"
#include <optional>

namespace trainx::plan {

class Settler {
 public:
  /// All outlive this.
  Settler(Search& search, const Space& space, Cells& cells, Finds& finds)
      : search_(search), space_(space), cells_(cells), finds_(finds) {}

  /// The least recomputation with which the cell fits, from a guess on; nothing: it never does.
  std::optional<int> least_depth(const Cell& cell, int guess);
  /// Whether the cell may fit in the longest segments; of shallow models in any.
  bool may_fit_in_segments(const Cell& cell);
  /// With the best share of the optimizer and the best time for which gathered weights stay.
  Decisions settled(Decisions choice);

 private:
  /// So many layers change their level together.
  int grain() const;
  Way at_depth(const Cell& cell, int depth);
  double saved_by_a_layer(const Cell& cell, int depth);
  int least_step_of_deep(const Cell& cell, int guess, int last);
  Decisions longest_that_fits(const Decisions& choice);

  Search& search_;
  const Space& space_;
  Cells& cells_;
  Finds& finds_;
};

}  // namespace trainx::plan
