#pragma once
#include <string>

namespace trainx::graph {

struct Model;

/// A line for each operation: "BLOCK OPERATION INPUTS (PARAMETERS) > OUTPUTS", by their names;
/// "frozen:" stands before parameters that are not trained. At last how many rows the head computes
/// at a time, where these are not all.
std::string print(const Model& model);

}  // namespace trainx::graph
