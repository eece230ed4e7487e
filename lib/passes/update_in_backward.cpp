#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/summed.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

/// Does `earlier` have to come first? Not for the norm's sake, which is summed anew.
bool must_precede(const Instruction& earlier, Instruction update) {
  std::erase_if(update.uses, [](const Use& u) { return u.slot == UpdateSlot::norm2; });
  return meet(earlier, update);
}

/// Is it an update, or does it make or sum over ranks what only updates hang on: norms, and sums
/// over whole tensors?
bool is_of_updates(const StepProgram& p, const Instruction& i) {
  if (i.op == Op::grad_norm || i.op == Op::measure || i.op == Op::update) return true;
  if (i.op != Op::reduce && i.op != Op::add) return false;
  const Role role = p.buffers[static_cast<std::size_t>(i.uses.back().buffer)].role;
  return role == Role::squared_norm || role == Role::tensor_sums;
}

using Groups = std::set<int>;

/// The updates of some groups and what they hang on, in the order of `all`, which are those of all
/// groups. The norm of their gradients is added to that of gradients before.
class UpdatesOfSome {
 public:
  UpdatesOfSome(const std::vector<Instruction>& all, const Groups& groups, bool are_first)
      : groups_(groups) {
    const Instruction& norm = *std::ranges::find(all, Op::grad_norm, &Instruction::op);
    total_ = find_use(norm, NormSlot::norm2)->buffer;
    for (const Instruction& i : all)
      if (Instruction own = i; keep_own(own, are_first)) {
        for (const Use& u : own.uses)
          if (writes(u.how)) made_.insert(u.buffer);
        out_.push_back(std::move(own));
      }
  }

  std::vector<Instruction> take() { return std::move(out_); }

 private:
  /// False: nothing is left of the instruction.
  bool keep_own(Instruction& i, bool are_first) {
    switch (i.op) {
      case Op::measure:
      case Op::update: return groups_.contains(i.group);
      case Op::grad_norm: return keep_own_gradients(i, are_first);
      case Op::add: return made_.contains(find_use(i, CopySlot::from)->buffer);
      default: return keep_own_things(i);
    }
  }

  /// The first norm of a step begins the total, of no gradient if need be.
  bool keep_own_gradients(Instruction& norm, bool are_first) const {
    std::erase_if(norm.uses, [&](const Use& u) {
      return u.slot >= NormSlot::first_gradient &&
             !groups_.contains(u.slot - NormSlot::first_gradient);
    });
    const auto to = std::ranges::find(norm.uses, NormSlot::norm2, &Use::slot);
    const bool is_total = to->buffer == total_;
    if (is_total) to->how = are_first ? How::overwrite : How::accumulate;
    return norm.uses.size() > 1 || (is_total && are_first);
  }

  bool keep_own_things(Instruction& sum) const {
    std::erase_if(sum.uses, [&](const Use& u) { return !made_.contains(u.buffer); });
    int thing = 0;
    for (Use& u : sum.uses) u.slot = ReduceSlot::thing(thing++);
    return !sum.uses.empty();
  }

  const Groups& groups_;
  BufferId total_ = none;    // the norm that updates read
  std::set<BufferId> made_;  // by what is kept so far
  std::vector<Instruction> out_;
};

/// The last work of a block up to that position, behind which a gradient is complete.
std::size_t last_block(const std::vector<Instruction>& steady, std::size_t position) {
  while (position > 0 && !is_of_block(steady[position])) --position;
  return position;
}

}  // namespace

StepProgram update_in_backward(StepProgram p) {
  enter(p, Pass::update_in_backward);
  std::vector<Instruction> rest, of_updates;
  std::vector<std::pair<std::size_t, int>> places;  // positions in `rest`, and groups
  // by position in `rest`: groups that are updated right after it, by the block that completes
  // their gradients
  std::map<std::size_t, std::map<std::size_t, Groups>> behind;
  for (const Instruction& i : p.steady) {
    (is_of_updates(p, i) ? of_updates : rest).push_back(i);
    if (i.op != Op::update) continue;
    std::size_t after = rest.size();
    while (after > 0 && !must_precede(rest[after - 1], i)) --after;
    if (after == 0)
      throw InternalError("update_in_backward: nothing writes the gradient of group " +
                          std::to_string(i.group));
    places.emplace_back(after - 1, i.group);
  }
  // Gradients that a block completes are updated together, once those are summed that are summed:
  // beside a tensor that ranks have parts of, such as an embedding's, there may be one that all
  // have.
  std::map<std::size_t, std::pair<std::size_t, Groups>> by_block;
  for (const auto& [after, group] : places) {
    auto& [position, groups] = by_block[last_block(rest, after)];
    position = std::max(position, beside_sum(rest, after));
    groups.insert(group);
  }
  for (auto& [block, at] : by_block) behind[at.first][block] = std::move(at.second);
  if (std::ranges::find(of_updates, Op::grad_norm, &Instruction::op) == of_updates.end())
    throw InternalError("update_in_backward: the program sums no norm");
  std::vector<Instruction> steady;
  bool are_first = true;
  for (std::size_t k = 0; k < rest.size(); ++k) {
    steady.push_back(std::move(rest[k]));
    for (const auto& [block, groups] : behind[k])
      std::ranges::move(UpdatesOfSome(of_updates, groups, std::exchange(are_first, false)).take(),
                        std::back_inserter(steady));
  }
  p.steady = std::move(steady);
  return p;
}

}  // namespace trainx::passes
