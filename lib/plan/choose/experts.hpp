// Which ranks share experts.
#pragma once
#include "plan/decisions.hpp"
#include <string>

namespace trainx::plan {

/// Sets mesh.experts as parallel.experts says, where the model, the ranks and the optimizer allow
/// that. Throws UserError 78 where they do not.
void share_experts(Decisions& plan);

/// Which experts a rank has, and the room for rows that go to them; empty where ranks share none.
std::string shared_experts_words(const Decisions& plan);

}  // namespace trainx::plan
