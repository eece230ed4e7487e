#pragma once
#include "architectures/dims.hpp"
#include "program/model_graph.hpp"
#include <cstdint>
#include <vector>

namespace trainx::architectures {

/// Values of parameters that do not compute a token because experts do that are not chosen for it:
/// an expert's, by the share of experts that are not. 0 where all parameters compute all tokens.
double idle_parameters(const program::ModelGraph& graph);

struct ExpertParameters {
  std::int64_t layers = 0;       // that have experts
  std::vector<double> by_group;  // values of experts' parameters
};
ExpertParameters expert_parameters(const program::ModelGraph& graph);

/// Experts of a layer that has some; 0: there are none.
std::int64_t experts_of(const ModelDims& dims);

/// Experts that compute a token; 0: the model has none.
std::int64_t experts_per_token(const ModelDims& dims);

/// Of the tokens that training leaves to an expert; 0: to each all that choose it.
double capacity_factor(const ModelDims& dims);

/// The same model, whose experts compute all tokens that choose them.
ModelDims without_capacity(ModelDims dims);

}  // namespace trainx::architectures
