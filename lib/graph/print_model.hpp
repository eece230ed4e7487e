#pragma once
#include <string>

namespace trainx::graph {

struct Model;

/// A line for each operation: "BLOCK OPERATION INPUTS (PARAMETERS) > OUTPUTS", by their names;
/// "frozen:" stands before parameters that are not trained.
std::string print(const Model& model);

}  // namespace trainx::graph
