#pragma once
#include "program/model_graph.hpp"
#include <algorithm>
#include <cstdint>

namespace trainx::graph {

/// Puts the parameter at the end of the group, aligned. `continues`: right behind the one before,
/// so that a block can read both as one tensor.
inline void add(program::GroupSpec& group, program::ParameterSpec p, bool continues = false) {
  const auto aligned = [](std::int64_t n) {
    constexpr std::int64_t to = program::group_alignment;
    return (n + to - 1) / to * to;
  };
  p.offset = continues ? group.parameters.back().offset + group.parameters.back().elements()
                       : aligned(group.elements);
  if (p.saved_dims.empty()) {
    p.saved_dims = p.dims;
    if (p.saved_transposed) std::ranges::reverse(p.saved_dims);
  }
  group.elements = aligned(p.offset + p.elements());
  group.parameters.push_back(std::move(p));
}

}  // namespace trainx::graph
