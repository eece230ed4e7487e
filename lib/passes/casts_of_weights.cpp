#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include <map>
#include <utility>

namespace trainx::passes {

using namespace program;

StepProgram casts_of_weights(StepProgram p) {
  enter(p, Pass::casts_of_weights);
  std::map<std::pair<int, int>, BufferId> first;  // by block and slot
  std::map<BufferId, std::vector<Use*>> uses;
  for (Instruction& i : p.steady)
    for (Use& u : i.uses) {
      const Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
      if (b.role != Role::cast_weight || is_derived(b)) continue;
      const auto [copy, is_new] = first.try_emplace({b.index, b.item}, u.buffer);
      u.buffer = copy->second;
      if (!is_new) u.how = How::read;
      uses[u.buffer].push_back(&u);
    }
  for (const auto& [copy, all] : uses) {
    Buffer& b = p.buffers[static_cast<std::size_t>(copy)];
    if (all.size() == 1)
      b.role = Role::scratch;
    else
      b.micro = none;
  }
  return p;
}

}  // namespace trainx::passes
