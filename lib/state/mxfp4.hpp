// Weights in mxfp4: blocks of 32 numbers of 4 bits with a scale of 8 (OCP Microscaling
// Formats 1.0).
#pragma once
#include "program/model_graph.hpp"
#include "state/named_tensors.hpp"

namespace trainx::state {

/// Does the folder have the parameter as <name>_blocks and <name>_scales?
bool is_in_mxfp4(const NamedTensors& saved, const program::ParameterSpec& p);
/// Fills the parameter [experts, out, in] in its group's memory. Blocks are u8
/// [experts, out, in / 32, 16], two numbers a byte, the lower bits first; scales u8
/// [experts, out, in / 32], powers of 2 with a bias of 127.
void take_mxfp4(NamedTensors& saved, const program::ParameterSpec& p, float* group_memory);

}  // namespace trainx::state
