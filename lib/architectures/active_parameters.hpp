#pragma once
#include "architectures/options.hpp"
#include "program/model_graph.hpp"

namespace trainx::architectures {

/// Values of parameters that do not compute a token because experts do that are not chosen for it:
/// an expert's, by the share of experts that are not. 0 where all parameters compute all tokens.
double idle_parameters(const program::ModelGraph& graph);

/// Experts of a layer that has some; 0: there are none.
std::int64_t experts_of(const ModelDims& dims);

}  // namespace trainx::architectures
