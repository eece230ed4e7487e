#pragma once
#include "graph/adapter_options.hpp"
#include "graph/expert_sharing.hpp"
#include "graph/fp8_options.hpp"
#include "graph/parameter_rule.hpp"
#include <vector>

namespace trainx::graph {

/// What the passes over a model's graph are told of a run: what it trains, how, and over
/// how many ranks.
struct GraphPassOptions {
  std::vector<ParameterRule> rules = {};  // of what is trained; empty: everything alike
  Fp8Options fp8 = {};
  AdapterOptions adapter = {};
  ExpertSharing sharing = {};
  int context_ranks = 1;  // that have some tokens of each row
  // of evaluation: experts compute all choices, by the blocks of training, which drops some
  bool keeps_choices = false;
  int tensor_ranks = 1;  // that have parts of each layer
  bool operator==(const GraphPassOptions&) const = default;
};

}  // namespace trainx::graph
