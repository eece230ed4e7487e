#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/compute_slots.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

/// What lies between two uses of weights for no longer than this many turns is kept: a layer that
/// is recomputed before its backward, the head between the last layer's forward and backward.
constexpr int turns_kept = 2;

class ParameterOffload {
 public:
  ParameterOffload(StepProgram& p, const ParameterOffloadOptions& how) : p_(p), how_(how) {}

  void apply() {
    take_weights_of_updates();
    for (Buffer& b : p_.buffers)
      if (is_weights(b)) b.space = how_.on_disk ? Space::disk : Space::host;
    copy_ahead();
  }

 private:
  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }
  static bool is_weights(const Buffer& b) { return b.resident && b.role == Role::parameter; }

  /// Where updates are made on the host, over weights that are copied there or back: those are all
  /// that there is then.
  void take_weights_of_updates() {
    std::map<int, BufferId> on_device;  // by group
    std::vector<BufferId> becomes(p_.buffers.size());
    std::vector<Buffer> kept;
    for (std::size_t k = 0; k < p_.buffers.size(); ++k)
      if (is_weights(p_.buffers[k]) && p_.buffers[k].space == Space::device)
        on_device[p_.buffers[k].index] = static_cast<BufferId>(k);
    for (std::size_t k = 0; k < p_.buffers.size(); ++k) {
      const Buffer& b = p_.buffers[k];
      const auto same = on_device.find(b.index);
      if (b.role == Role::parameter && b.space == Space::host && same != on_device.end()) {
        // residents of the device come before those
        becomes[k] = becomes[static_cast<std::size_t>(same->second)];
      } else {
        becomes[k] = static_cast<BufferId>(kept.size());
        kept.push_back(b);
      }
    }
    p_.buffers = std::move(kept);
    for (Instruction& i : p_.steady)
      for (Use& u : i.uses) u.buffer = becomes[static_cast<std::size_t>(u.buffer)];
    std::erase_if(p_.steady, [](const Instruction& i) {
      return i.op == Op::copy && i.uses[0].buffer == i.uses[1].buffer;
    });
  }

  /// A buffer for a group's weights from one turn before its first use to behind its last, or to
  /// where nobody needs it for long; what an update writes goes back behind it. All that comes from
  /// a disk or goes there passes through the host.
  void copy_ahead() {
    struct Window {
      BufferId on_device = none;
      int last_turn = 0;
    };
    std::map<BufferId, Window> open;
    std::map<BufferId, int> copies;  // made so far
    const ComputeSlots turns(p_.steady, ComputeSlots::Of::blocks_and_parameters);
    all_turns_.emplace(p_.steady, ComputeSlots::Of::blocks_and_parameters_anywhere);
    before_.resize(p_.steady.size());
    after_.resize(p_.steady.size());
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& i = p_.steady[k];
      for (Use& u : i.uses) {
        const BufferId weights = u.buffer;
        if (!is_weights(buffer(weights))) continue;
        if (i.lane == Lane::host) {
          if (how_.on_disk) u.buffer = pass_through_host(weights, u.how, k);
          continue;
        }
        const int turn = turns.of[k];
        const auto [it, is_new] = open.try_emplace(weights);
        Window& window = it->second;
        if (is_new || turn - window.last_turn > turns_kept) {
          Buffer here = buffer(weights);
          here.resident = false;
          here.space = Space::device;
          here.name += "^" + (++copies[weights] == 1 ? "" : std::to_string(copies[weights]));
          window.on_device = add_buffer(p_, std::move(here));
          const auto ahead = static_cast<std::size_t>(
              turns.begin[static_cast<std::size_t>(std::max(0, turn - 1))]);
          before_[ahead].push_back(copy(how_.on_disk ? read_for(ahead, weights, i.micro) : weights,
                                        window.on_device, Lane::copy_in, i.micro));
        }
        window.last_turn = turn;
        u.buffer = window.on_device;
        if (!writes(u.how)) continue;
        const BufferId back = how_.on_disk ? add_slot(weights) : weights;
        after_[k].push_back(copy(window.on_device, back, Lane::copy_out, i.micro));
        if (how_.on_disk) write_behind(k, back, weights);
      }
    }
    insert();
  }

  /// For an update on the host, at that position: a buffer there.
  BufferId pass_through_host(BufferId weights, How how, std::size_t position) {
    const BufferId slot = read_for(position, weights, none);
    if (writes(how)) write_behind(position, slot, weights);
    return slot;
  }

  /// A buffer on the host into which weights are read ahead of that position, but behind what was
  /// written of them before.
  BufferId read_for(std::size_t position, BufferId weights, int micro) {
    const auto ahead = static_cast<std::size_t>(all_turns_->begin[static_cast<std::size_t>(
        std::max(0, all_turns_->of[position] - how_.read_ahead))]);
    const auto written = written_.find(weights);
    const BufferId slot = add_slot(weights);
    before_[written == written_.end() ? ahead : std::max(ahead, written->second + 1)].push_back(
        copy(weights, slot, Lane::disk, micro));
    return slot;
  }

  void write_behind(std::size_t position, BufferId slot, BufferId weights) {
    after_[position].push_back(copy(slot, weights, Lane::disk, none));
    written_[weights] = position;
  }

  BufferId add_slot(BufferId weights) {
    Buffer slot = buffer(weights);
    slot.resident = false;
    slot.space = Space::host;
    slot.name += "'" + (++slots_[weights] == 1 ? "" : std::to_string(slots_[weights]));
    return add_buffer(p_, std::move(slot));
  }

  void insert() {
    std::vector<Instruction> steady;
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      std::ranges::move(before_[k], std::back_inserter(steady));
      steady.push_back(std::move(p_.steady[k]));
      std::ranges::move(after_[k], std::back_inserter(steady));
    }
    p_.steady = std::move(steady);
  }

  Instruction copy(BufferId from, BufferId to, Lane lane, int micro) {
    return {
        Op::copy,
        none,
        micro,
        lane,
        {whole(p_, from, How::read, CopySlot::from), whole(p_, to, How::overwrite, CopySlot::to)}};
  }

  StepProgram& p_;
  const ParameterOffloadOptions& how_;
  std::optional<ComputeSlots> all_turns_;  // also of updates on the host
  // by position in steady: what is inserted there
  std::vector<std::vector<Instruction>> before_, after_;
  // weights on the disk: the last position behind which they are written so far
  std::map<BufferId, std::size_t> written_;
  std::map<BufferId, int> slots_;  // on the host, made so far
};

}  // namespace

StepProgram parameter_offload(StepProgram p, const ParameterOffloadOptions& how) {
  enter(p, Pass::parameter_offload);
  ParameterOffload(p, how).apply();
  return p;
}

}  // namespace trainx::passes
