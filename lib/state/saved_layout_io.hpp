// Tensors as they are saved (architectures/saved_layout.hpp), laid out by all that the rank may
// use.
#pragma once
#include "program/model_graph.hpp"
#include <span>

namespace trainx::state {

/// Fills the parameter's elements in its group's memory, padding with zeros. `saved` is row-major
/// in p.saved_dims.
void unpack_saved(const program::ParameterSpec& p, std::span<const float> saved,
                  float* group_memory);
void pack_saved(const program::ParameterSpec& p, const float* group_memory, std::span<float> saved);

}  // namespace trainx::state
