// Weights that a step casts to fp8 before ranks gather them (program::GroupSpec::fp8): of each
// group the parts of tensors that this rank has.
#pragma once
#include "execute/placed_memory.hpp"

namespace trainx::execute {

/// Op::fp8_scale. `groups`: as the rank owns them. On a GPU inside a GpuScope, on its stream.
void find_fp8_scales(const program::Instruction& i, const PlacedMemory& memory,
                     const std::vector<program::LocalGroup>& groups);
/// Op::quantize, alike.
void quantize_weights(const program::Instruction& i, const PlacedMemory& memory,
                      const std::vector<program::LocalGroup>& groups);

}  // namespace trainx::execute
