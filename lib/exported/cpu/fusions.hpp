#pragma once
#include "exported/makers.hpp"

namespace trainx::exported::cpu {

/// Whether every number of the graph's operands is in fp32, which these calls compute in.
bool can_fuse(const PreparedGraph& graph);

/// Makes the call one of trainx's own for CPUs, where it ends a pattern that there is one for.
bool fuse(const Makers& makers, Call& call);

}  // namespace trainx::exported::cpu
