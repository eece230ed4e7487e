#pragma once
#include "plan/draft.hpp"

namespace trainx::plan {

/// Throws UserError 78 if model.attention asks for an implementation that cannot run here: no other
/// one replaces it silently. Needs dims, on_gpu, compute and row_lengths.
void require_attention(const Draft& plan);

}  // namespace trainx::plan
