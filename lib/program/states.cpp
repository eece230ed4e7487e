#include "program/states.hpp"

namespace trainx::program {

StateLayout state_layout(const StateSpec& state, const GroupSpec& group) {
  StateLayout layout;
  for (const ParameterSpec& p : group.parameters) {
    if (!state.dims) {
      layout.offsets.push_back(p.offset);
      layout.entries = group.elements;
      continue;
    }
    const TensorSpec kept{"", state.dtype, state.dims(p)};
    layout.offsets.push_back(kept.dims.empty() ? none : layout.entries);
    if (!kept.dims.empty())
      layout.entries += (kept.elements() + group_alignment - 1) / group_alignment * group_alignment;
  }
  return layout;
}

std::vector<std::int64_t> sums_layout(const TensorSums& sums, const GroupSpec& group) {
  std::vector<std::int64_t> begin{0};
  for (const ParameterSpec& p : group.parameters) begin.push_back(begin.back() + sums(p));
  return begin;
}

}  // namespace trainx::program
