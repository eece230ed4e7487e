// Balance of experts without a loss (Wang et al. 2024, arXiv:2408.15664; DeepSeek-V3,
// arXiv:2412.19437, section 2.1.2).
#pragma once
#include "execute/placed_memory.hpp"
#include "kernels/experts/balance_biases.hpp"
#include "program/model_graph.hpp"
#include <vector>

namespace trainx::execute {

/// What moves each bias of a router's choice in the group by `rate`. `loads`: f64
/// [layers, experts + 1], summed over ranks and micro-batches (program::expert_loads).
/// `parameters`: the group in fp32, or the rank's shard of it. Addresses of a host or of a GPU.
std::vector<kernels::BalanceBiases> balance_of(const program::GroupSpec& group, double rate,
                                               std::int64_t experts, const double* loads,
                                               const double* norm2, float* parameters);
/// Of an instruction; `group` is its group, as the rank owns it.
std::vector<kernels::BalanceBiases> balance_of(const program::Instruction& i,
                                               const program::GroupSpec& group,
                                               const PlacedMemory& memory);

}  // namespace trainx::execute
