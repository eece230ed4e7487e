#pragma once
#include "graph/to_blocks.hpp"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace net {

/// The graph as passes see it and the operations that its blocks are made of, a line for each
/// group, parameter, value, slot, phase, product and operation.
std::string graph_text(const trainx::program::ModelGraph& graph);

/// Name of each operation -> its flags and choices -> "values" that these may have, and which they
/// have in a new object ("begins").
nlohmann::json operations();

}  // namespace net
