#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/summed.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

/// Does `earlier` have to come first? Not for the norm's sake, which is summed anew.
bool must_precede(const Instruction& earlier, Instruction update) {
  std::erase_if(update.uses, [](const Use& u) { return u.slot == UpdateSlot::norm2; });
  return meet(earlier, update);
}

/// The norm of these groups' gradients, added to those before.
Instruction norm_of(const std::vector<Instruction>& updates, const Instruction& norm, bool first) {
  Instruction out = norm;
  std::erase_if(out.uses, [&](const Use& u) {
    return u.slot >= NormSlot::first_gradient &&
           std::none_of(updates.begin(), updates.end(), [&](const Instruction& i) {
             return u.slot == NormSlot::first_gradient + i.group;
           });
  });
  for (Use& u : out.uses)
    if (u.slot == NormSlot::norm2) u.how = first ? How::overwrite : How::accumulate;
  return out;
}

}  // namespace

StepProgram update_in_backward(StepProgram p) {
  enter(p, Pass::update_in_backward);
  std::vector<Instruction> rest;
  // of each of `rest`: the updates that come right after it
  std::vector<std::vector<Instruction>> behind;
  const Instruction* norm = nullptr;
  for (const Instruction& i : p.steady) {
    if (i.op == Op::grad_norm) {
      norm = &i;
    } else if (i.op == Op::update) {
      std::size_t after = rest.size();
      while (after > 0 && !must_precede(rest[after - 1], i)) --after;
      if (after == 0)
        throw InternalError("update_in_backward: nothing writes the gradient of group " +
                            std::to_string(i.group));
      behind[beside_sum(rest, after - 1)].push_back(i);
    } else {
      rest.push_back(i);
      behind.emplace_back();
    }
  }
  if (!norm) throw InternalError("update_in_backward: the program sums no norm");
  std::vector<Instruction> steady;
  bool first = true;
  for (std::size_t k = 0; k < rest.size(); ++k) {
    steady.push_back(std::move(rest[k]));
    if (behind[k].empty()) continue;
    steady.push_back(norm_of(behind[k], *norm, std::exchange(first, false)));
    std::move(behind[k].begin(), behind[k].end(), std::back_inserter(steady));
  }
  p.steady = std::move(steady);
  return p;
}

}  // namespace trainx::passes
