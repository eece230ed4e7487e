#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/compute_slots.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

/// A buffer that nobody uses between two positions.
struct Gap {
  BufferId buffer;
  int last_use, next_use;
};

/// A use of a buffer; what the use names may change.
struct Touch {
  int position;
  Use* use;
};

/// Its bytes are free for a turn at least: the turn behind the last use holds them while they are
/// copied out, the turn before the next use while they come back.
constexpr int turns_apart = 4;

/// What is less than this share of all that a turn leaves behind stays: a copy of a few numbers
/// takes longer than it saves.
constexpr Bytes least_share = 64;

std::vector<Gap> gaps_of(const StepProgram& p, const ComputeSlots& turns) {
  std::vector<int> last(p.buffers.size(), none);
  std::vector<Gap> gaps;
  for (std::size_t k = 0; k < p.steady.size(); ++k)
    for (const Use& u : p.steady[k].uses) {
      const Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
      if ((b.role != Role::value && b.role != Role::saved) || b.space != Space::device ||
          b.resident)
        continue;
      const int position = static_cast<int>(k),
                before = std::exchange(last[static_cast<std::size_t>(u.buffer)], position);
      if (before != none && reads(u.how) &&
          turns.of[k] - turns.of[static_cast<std::size_t>(before)] >= turns_apart)
        gaps.push_back({u.buffer, before, position});
    }
  std::map<int, Bytes> left_behind;  // by turn
  const auto turn_of = [&](const Gap& g) { return turns.of[static_cast<std::size_t>(g.last_use)]; };
  const auto size_of = [&](const Gap& g) {
    return p.buffers[static_cast<std::size_t>(g.buffer)].bytes();
  };
  for (const Gap& g : gaps) left_behind[turn_of(g)] += size_of(g);
  std::erase_if(gaps,
                [&](const Gap& g) { return size_of(g) * least_share < left_behind[turn_of(g)]; });
  return gaps;
}

}  // namespace

StepProgram activation_offload(StepProgram p) {
  enter(p, Pass::activation_offload);
  const ComputeSlots turns(p.steady);
  const std::vector<Gap> gaps = gaps_of(p, turns);
  // copies, by position
  std::vector<std::vector<Instruction>> before(p.steady.size()), behind(p.steady.size());
  std::vector<std::vector<Touch>> touches(p.buffers.size());  // by buffer, in order
  for (std::size_t k = 0; k < p.steady.size(); ++k)
    for (Use& u : p.steady[k].uses)
      touches[static_cast<std::size_t>(u.buffer)].push_back({static_cast<int>(k), &u});
  std::map<BufferId, BufferId> on_host;  // of a buffer: its copy
  for (const Gap& g : gaps) {
    const Buffer b = p.buffers[static_cast<std::size_t>(g.buffer)];
    const int micro = p.steady[static_cast<std::size_t>(g.last_use)].micro;
    // else what is there has not changed: values are written once
    if (!on_host.contains(g.buffer)) {
      Buffer host = b;
      host.name += "'";
      host.space = Space::host;
      const BufferId to = on_host[g.buffer] = add_buffer(p, std::move(host));
      behind[static_cast<std::size_t>(g.last_use)].push_back(
          {Op::copy,
           none,
           micro,
           Lane::copy_out,
           {Use{g.buffer, How::read, CopySlot::from}, Use{to, How::overwrite, CopySlot::to}}});
    }
    Buffer again = b;
    again.name += "^";
    const BufferId back = add_buffer(p, std::move(again));
    const int ahead =
        turns.begin[static_cast<std::size_t>(turns.of[static_cast<std::size_t>(g.next_use)]) - 1];
    before[static_cast<std::size_t>(ahead)].push_back(
        {Op::copy,
         none,
         micro,
         Lane::copy_in,
         {Use{on_host[g.buffer], How::read, CopySlot::from},
          Use{back, How::overwrite, CopySlot::to}}});
    for (const Touch& touch : touches[static_cast<std::size_t>(g.buffer)]) {
      if (touch.position < g.next_use) continue;
      if (writes(touch.use->how))
        throw InternalError("activation_offload: " + b.name +
                            " is written again after it was copied to the host");
      touch.use->buffer = back;
    }
  }
  std::vector<Instruction> steady;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    std::move(before[k].begin(), before[k].end(), std::back_inserter(steady));
    steady.push_back(std::move(p.steady[k]));
    std::move(behind[k].begin(), behind[k].end(), std::back_inserter(steady));
  }
  p.steady = std::move(steady);
  return p;
}

}  // namespace trainx::passes
