// For heads that compute some rows at a time.
#pragma once
#include "model/block_context.hpp"

namespace trainx::model {

/// Sums of one chunk after another go to a scalar or gradient that the instruction overwrites or
/// adds to: only the first chunk may overwrite.
inline bool adds(const BlockContext& c, program::Slot s, bool first_chunk) {
  return !first_chunk || c.accumulates(s);
}

}  // namespace trainx::model
