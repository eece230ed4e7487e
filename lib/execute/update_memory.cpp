#include "execute/update_memory.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::execute {

using namespace program;

UpdateMemory update_memory(const plan::PlacedProgram& placed, const Instruction& i,
                           const program::LocalGroup& own,
                           const std::function<std::byte*(const Use&)>& address,
                           std::optional<std::uint64_t> rounding_seed) {
  const auto buffer = [&](const Use& u) -> const Buffer& {
    return placed.program.buffers[static_cast<std::size_t>(u.buffer)];
  };
  UpdateMemory out;
  optim::GroupMemory& group = out.group;
  group.group = &own.spec;
  group.first = own.first;
  group.rounding_seed = rounding_seed;
  group.index = i.group;
  const Use &gradient = use_of(i, UpdateSlot::gradient),
            &parameter = use_of(i, UpdateSlot::parameter);
  group.gradient = address(gradient);
  group.gradient_dtype = buffer(gradient).dtype;
  group.parameter = address(parameter);
  group.parameter_dtype = buffer(parameter).dtype;
  if (const Use* master = find_use(i, UpdateSlot::master)) {
    group.master = address(*master);
    group.master_kind = master_kind(buffer(*master));
  }
  for (const Use& u : i.uses) {
    if (UpdateSlot::is_sums(u.slot)) {
      const int round = u.slot - UpdateSlot::first_sums;
      out.round = std::max(out.round, round);
      group.of_group = &placed.graph.groups[static_cast<std::size_t>(i.group)];
      group.sums.resize(UpdateSlot::last_sums - UpdateSlot::first_sums + 1);
      group.sums[static_cast<std::size_t>(round)] = reinterpret_cast<double*>(address(u));
    }
    if (u.slot < UpdateSlot::first_state) continue;
    const auto state = static_cast<std::size_t>(u.slot - UpdateSlot::first_state);
    group.states.resize(std::max(group.states.size(), state + 1));
    group.states[state] = address(u);
  }
  return out;
}

}  // namespace trainx::execute
