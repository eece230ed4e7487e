// Between a parameter in its group's memory and the tensor in a saved file: transposed where the
// file is, and without padding.
#pragma once
#include "program/model_graph.hpp"
#include <cstdint>
#include <span>

namespace trainx::architectures {

/// Number of elements in the saved file.
std::int64_t saved_elements(const program::ParameterSpec& p);
/// As inside trainx, without padding: what the functions below can be called for in parts.
struct Rows {
  std::int64_t begin = 0, end = 0;
};
Rows saved_rows(const program::ParameterSpec& p);
/// Elements of one of them.
std::int64_t saved_columns(const program::ParameterSpec& p);
/// Of these rows, into or from the parameter's elements in its group's memory; padding stays as it
/// is. `saved`: all of the tensor, row-major in p.saved_dims.
void unpack_saved(const program::ParameterSpec& p, std::span<const float> saved,
                  float* group_memory, Rows rows);
void pack_saved(const program::ParameterSpec& p, const float* group_memory, std::span<float> saved,
                Rows rows);

}  // namespace trainx::architectures
