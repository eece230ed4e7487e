#pragma once
#include "graph/model.hpp"

namespace trainx::graph {

/// Where each parameter lies: its group, and its place among the group's.
struct ParameterPlaces {
  std::vector<program::GroupSpec> groups;
  struct Place {
    int group = none, index = none;
  };
  std::vector<Place> places;  // by Model::parameters
};

/// Parameters of a block that are trained alike form a group, those that name a group of their own
/// in that. Weights that are cast before ranks gather them form another, and so do weights that are
/// cast once a run and read by nothing else. Decayed tensors come first; the others as the block
/// uses them, what opens it last.
ParameterPlaces place_parameters(const Model& model);

}  // namespace trainx::graph
