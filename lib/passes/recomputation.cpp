#include "passes/recomputation.hpp"
#include "core/error.hpp"

namespace trainx::passes {

using namespace program;

Recomputation plan_recomputation(const BlockSpec& block, const std::vector<char>& wanted,
                                 const std::vector<char>& kept) {
  const Phase& forward = block.phases.at(Op::forward);
  const std::size_t n = block.slots.size();
  std::vector<char> input(n), output(n), mentioned(n), needed(n);
  for (const SlotUse& u : forward.uses) (u.how == How::read ? input : output)[u.slot] = true;
  for (const SlotSpec& s : block.slots)
    for (const Slot f : s.from) mentioned[f] = true;
  std::vector<std::size_t> open;
  for (std::size_t s = 0; s < n; ++s)
    if (wanted[s]) open.push_back(s), needed[s] = true;
  Recomputation r;
  if (open.empty()) return r;
  while (!open.empty()) {
    const std::size_t s = open.back();
    open.pop_back();
    if (!wanted[s] && (input[s] || kept[s])) continue;
    if (!output[s] || block.slots[s].from.empty())
      throw InternalError("activation_recomputation: " + block.name +
                          " does not say what its operand " + block.slots[s].name +
                          " is computed from");
    for (const Slot f : block.slots[s].from)
      if (!needed[f]) needed[f] = true, open.push_back(static_cast<std::size_t>(f));
  }
  for (const SlotUse& u : forward.uses) {
    const auto s = static_cast<std::size_t>(u.slot);
    // of the operation as a whole
    const bool workspace = block.slots[s].role == Role::scratch && !mentioned[s];
    if (wanted[s])
      r.rebuilt.push_back(u.slot);
    else if (needed[s] && (input[s] || kept[s]))
      r.reads.push_back(u.slot);
    else if (needed[s] || workspace)
      r.passing.push_back(u.slot);
  }
  return r;
}

}  // namespace trainx::passes
