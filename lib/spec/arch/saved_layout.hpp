// Between a parameter in its group's memory and the tensor in a saved file: transposed where the file is, and without padding.
#pragma once
#include "program/model_graph.hpp"
#include <span>

namespace trainx::spec {

/// Number of elements in the saved file.
std::int64_t saved_elements(const program::ParameterSpec& p);
/// Fills the parameter's elements in its group's memory, padding with zeros. `saved` is row-major in p.saved_dims.
void unpack_saved(const program::ParameterSpec& p, std::span<const float> saved, float* group_memory);
void pack_saved(const program::ParameterSpec& p, const float* group_memory, std::span<float> saved);

}  // namespace trainx::spec
