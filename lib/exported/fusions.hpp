// Calls that one operator computes together.
#pragma once
#include "exported/call.hpp"

namespace trainx::exported {

/// Replaces known patterns and leaves out what nobody reads then. On a GPU, and on a CPU in fp32,
/// also those whose rounding in 16 bits is another than that of the operators one by one.
void fuse(PreparedGraph& graph, bool on_gpu);

}  // namespace trainx::exported
