// Which ranks share experts.
#pragma once
#include "plan/draft.hpp"
#include <string>
#include <vector>

namespace trainx::plan {

/// Sets mesh.experts as parallel.experts says, where the model, the ranks and the optimizer allow
/// that. Throws UserError 78 where they do not.
void share_experts(Draft& plan);

/// Over how many ranks experts may lie: as written; `free` and 1 is written: any number that the
/// model, the ranks and the rest of the recipe allow, ascending.
std::vector<int> expert_ranks_of(const Draft& plan, bool free);

/// Which experts a rank has, and the room for rows that go to them; empty where ranks share none.
std::string shared_experts_words(const Draft& plan);

}  // namespace trainx::plan
