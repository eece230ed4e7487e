// What is trained of a model, and how: settings by patterns of parameters' names.
#pragma once
#include "graph/parameter_rule.hpp"
#include <string_view>
#include <vector>

namespace trainx::graph {

struct Model;

bool matches(std::string_view pattern, std::string_view name);

/// Rules in order: of those that set the same thing the last one that matches holds. UserError 78
/// where tensors that are computed as one would be trained differently.
void apply(const std::vector<ParameterRule>& rules, Model& model);

}  // namespace trainx::graph
