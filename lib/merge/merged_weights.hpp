#pragma once
#include "checkpoint/checkpoint.hpp"
#include "plan/adapter_plan.hpp"
#include "program/model_graph.hpp"
#include <vector>

namespace trainx::merge {

/// The model's own tensors of a run that trains an adapter, with what the adapter adds to them.
/// `weights`: all of the run, in fp32, by the names of `graph`'s parameters.
std::vector<checkpoint::TensorSource> merged_weights(
    const plan::AdapterPlan& adapter, const program::ModelGraph& graph,
    const std::vector<checkpoint::TensorSource>& weights);

}  // namespace trainx::merge
