#pragma once
#include "graph/to_blocks.hpp"
#include <string>

namespace net {

/// The graph as passes see it and the operations that its blocks are made of, a line for each
/// group, parameter, value, slot, phase, product and operation.
std::string graph_text(const trainx::program::ModelGraph& graph);

/// JSON: name of each operation -> its flags and choices -> the values that these may have.
std::string operations_text();

}  // namespace net
