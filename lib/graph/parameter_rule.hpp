#pragma once
#include <optional>
#include <string>

namespace trainx::graph {

/// What is trained of a model, and how: settings of the parameters whose names match. What is not
/// set stays as it is.
struct ParameterRule {
  std::string pattern;  // of ParameterSpec::name; * stands for any characters, also none
  std::optional<bool> trained = {};
  std::optional<double> lr_scale = {};
  // 0: none; else also of tensors that would not decay
  std::optional<double> weight_decay = {};
  bool operator==(const ParameterRule&) const = default;
};

}  // namespace trainx::graph
