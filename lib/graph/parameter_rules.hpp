// What is trained of a model, and how: settings by patterns of parameters' names.
#pragma once
#include "graph/model.hpp"
#include <optional>
#include <string>
#include <vector>

namespace trainx::graph {

/// Settings of the parameters whose names match; what is not set stays as it is.
struct ParameterRule {
  std::string pattern;  // of ParameterSpec::name; * stands for any characters, also none
  std::optional<bool> trained = {};
  std::optional<double> lr_scale = {};
  // 0: none; else also of tensors that would not decay
  std::optional<double> weight_decay = {};
  bool operator==(const ParameterRule&) const = default;
};

bool matches(std::string_view pattern, std::string_view name);

/// Rules in order: of those that set the same thing the last one that matches holds. UserError 78
/// where tensors that are computed as one would be trained differently.
void apply(const std::vector<ParameterRule>& rules, Model& model);

}  // namespace trainx::graph
