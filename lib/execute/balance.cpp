#include "execute/balance.hpp"
#include "core/error.hpp"
#include "plan/programs.hpp"
#include "program/operations.hpp"

namespace trainx::execute {

std::vector<kernels::BalanceBiases> balance_of(const program::GroupSpec& group, double rate,
                                               std::int64_t experts, const double* loads,
                                               const double* norm2, float* parameters) {
  std::vector<kernels::BalanceBiases> all;
  for (const program::ParameterSpec& p : group.parameters)
    if (p.expert_layer != program::none)
      all.push_back({.experts = static_cast<int>(experts),
                     .loads = loads + p.expert_layer * (experts + 1),
                     .norm2 = norm2,
                     .rate = rate,
                     .first = static_cast<int>(p.slice.first),
                     .count = static_cast<int>(p.elements()),
                     .biases = parameters + p.offset});
  return all;
}

std::vector<kernels::BalanceBiases> balance_of(const program::Instruction& i,
                                               const program::GroupSpec& group,
                                               const PlacedMemory& memory) {
  using program::UpdateSlot;
  const program::Use &loads = use_of(i, UpdateSlot::gradient),
                     &biases = use_of(i, UpdateSlot::parameter),
                     &norm2 = use_of(i, UpdateSlot::norm2);
  if (memory.buffer(biases).dtype != DType::f32)
    throw InternalError("biases of routers move in fp32 alone");
  const program::ModelGraph& graph = memory.placed().graph;
  const auto& scalar = graph.scalars[static_cast<std::size_t>(memory.buffer(loads).index)];
  return balance_of(group, graph.balance_rate, scalar.dims.back() - 1,
                    reinterpret_cast<const double*>(memory.address(loads)),
                    reinterpret_cast<const double*>(memory.address(norm2)),
                    reinterpret_cast<float*>(memory.address(biases)));
}

}  // namespace trainx::execute
