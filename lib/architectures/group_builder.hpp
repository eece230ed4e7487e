// Puts a group together from its parameters, each at its offset.
#pragma once
#include "program/model_graph.hpp"
#include <algorithm>
#include <cstdint>

namespace trainx::architectures {

inline std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// `continues`: it begins where the last one ends, so that a block can read both as one tensor.
inline void add(program::GroupSpec& group, program::ParameterSpec p, bool continues = false) {
  p.offset = continues ? group.parameters.back().offset + group.parameters.back().elements()
                       : round_up(group.elements, program::group_alignment);
  if (p.saved_dims.empty()) p.saved_dims = p.dims;
  if (p.saved_transposed) std::reverse(p.saved_dims.begin(), p.saved_dims.end());
  group.elements = round_up(p.offset + p.elements(), program::group_alignment);
  group.parameters.push_back(std::move(p));
}

inline program::ParameterSpec embedding(std::string name, std::int64_t rows, std::int64_t columns,
                                        std::int64_t saved_rows, double deviation) {
  return {.name = std::move(name),
          .dims = {rows, columns},
          .decay = true,
          .initializer = program::Initializer::normal,
          .standard_deviation = deviation,
          .embedding = true,
          .saved_dims = {saved_rows, columns}};
}

inline program::ParameterSpec linear_weight(std::string name, std::int64_t out, std::int64_t in,
                                            double deviation) {
  return {.name = std::move(name),
          .dims = {out, in},
          .decay = true,
          .initializer = program::Initializer::normal,
          .standard_deviation = deviation};
}

inline program::ParameterSpec bias(std::string name, std::int64_t n) {
  return {.name = std::move(name), .dims = {n}};
}

/// The norm `name` of n elements, and where a block before left its branch's bias open, that.
inline void add_norm(program::GroupSpec& group, const std::string& name, std::int64_t n,
                     const std::string& pending_bias) {
  add(group, {.name = name + ".weight", .dims = {n}, .initializer = program::Initializer::ones});
  add(group, bias(name + ".bias", n));
  if (!pending_bias.empty()) add(group, bias(pending_bias, n));
}

}  // namespace trainx::architectures
