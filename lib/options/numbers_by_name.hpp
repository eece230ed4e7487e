#pragma once
#include <string>
#include <utility>
#include <vector>

namespace trainx::options {

/// A map whose keys are the user's own, in its order: {q_proj: 4, "layers.1.mlp.up_proj": 2}.
struct NumbersByName {
  std::vector<std::pair<std::string, double>> entries;
  bool operator==(const NumbersByName&) const = default;
};

}  // namespace trainx::options
