// What is told of choices: the reason for each, and what it costs.
#pragma once
#include "plan/choose/search.hpp"

namespace trainx::plan {

struct Searched {
  const Draft& before;  // the plan, as the recipe says it
  const Space& space;
  const Found& found;
  bool as_written = false;  // memory.fit changed nothing
};

/// Writes plan.choices. The plan has what was found.
void tell(Draft& plan, Search& search, const Searched& searched);

/// Of zero3: whether weights that forward has gathered stay, or are gathered again.
void tell_kept_weights(Draft& plan, Search& search);

}  // namespace trainx::plan
