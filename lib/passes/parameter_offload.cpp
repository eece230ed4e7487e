#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/turns.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

/// What lies between two uses of weights for no longer than this many turns is kept: a layer that is recomputed before its backward, the head between the last layer's forward and backward.
constexpr int turns_kept = 2;

class ParameterOffload {
 public:
  explicit ParameterOffload(StepProgram& p) : p_(p) {}

  void apply() {
    take_weights_of_updates();
    for (Buffer& b : p_.buffers)
      if (is_weights(b)) b.space = Space::host;
    copy_ahead();
  }

 private:
  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }
  static bool is_weights(const Buffer& b) { return b.resident && b.kind == Kind::parameter; }

  /// Where updates are made on the host, over weights that come back behind them: those are all that there is then.
  void take_weights_of_updates() {
    std::map<int, BufferId> on_device;            // by group
    std::vector<BufferId> becomes(p_.buffers.size());
    std::vector<Buffer> kept;
    for (std::size_t k = 0; k < p_.buffers.size(); ++k)
      if (is_weights(p_.buffers[k]) && p_.buffers[k].space == Space::device) on_device[p_.buffers[k].owner] = static_cast<BufferId>(k);
    for (std::size_t k = 0; k < p_.buffers.size(); ++k) {
      const Buffer& b = p_.buffers[k];
      const auto same = on_device.find(b.owner);
      if (is_weights(b) && b.space == Space::host && same != on_device.end()) {
        becomes[k] = becomes[static_cast<std::size_t>(same->second)];   // residents of the device come before those
      } else {
        becomes[k] = static_cast<BufferId>(kept.size());
        kept.push_back(b);
      }
    }
    p_.buffers = std::move(kept);
    for (Instruction& i : p_.steady)
      for (Use& u : i.uses) u.buffer = becomes[static_cast<std::size_t>(u.buffer)];
    std::erase_if(p_.steady, [](const Instruction& i) { return i.op == Op::copy && i.uses[0].buffer == i.uses[1].buffer; });
  }

  /// A buffer for a group's weights from one turn before its first use to behind its last, or to where nobody needs it for long; what an update writes goes back behind it.
  void copy_ahead() {
    struct Window { BufferId on_device = none; int last_turn = 0; };
    std::map<BufferId, Window> open;
    std::map<BufferId, int> copies;               // made so far
    const Turns turns(p_.steady, Turns::Of::blocks_and_parameters);
    std::vector<std::vector<Instruction>> before(p_.steady.size()), behind(p_.steady.size());
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& i = p_.steady[k];
      if (i.lane == Lane::host) continue;
      for (Use& u : i.uses) {
        const BufferId weights = u.buffer;
        if (!is_weights(buffer(weights))) continue;
        const int turn = turns.of[k];
        const auto [it, is_new] = open.try_emplace(weights);
        Window& window = it->second;
        if (is_new || turn - window.last_turn > turns_kept) {
          Buffer here = buffer(weights);
          here.resident = false;
          here.space = Space::device;
          here.name += "^" + (++copies[weights] == 1 ? "" : std::to_string(copies[weights]));
          window.on_device = add_buffer(p_, std::move(here));
          before[static_cast<std::size_t>(turns.begin[static_cast<std::size_t>(std::max(0, turn - 1))])].push_back(copy(weights, window.on_device, Lane::copy_in, i.micro));
        }
        window.last_turn = turn;
        u.buffer = window.on_device;
        if (writes(u.how)) behind[k].push_back(copy(window.on_device, weights, Lane::copy_out, i.micro));
      }
    }
    std::vector<Instruction> steady;
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      std::move(before[k].begin(), before[k].end(), std::back_inserter(steady));
      steady.push_back(std::move(p_.steady[k]));
      std::move(behind[k].begin(), behind[k].end(), std::back_inserter(steady));
    }
    p_.steady = std::move(steady);
  }

  Instruction copy(BufferId from, BufferId to, Lane lane, int micro) {
    return {Op::copy, none, micro, lane, {whole(p_, from, How::read, CopySlot::from), whole(p_, to, How::overwrite, CopySlot::to)}};
  }

  StepProgram& p_;
};

}  // namespace

StepProgram parameter_offload(StepProgram p) {
  enter(p, Pass::parameter_offload);
  ParameterOffload(p).apply();
  return p;
}

}  // namespace trainx::passes
