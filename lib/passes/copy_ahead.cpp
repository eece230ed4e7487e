#include "passes/copy_ahead.hpp"
#include "passes/compute_slots.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

/// What lies between two uses for no longer than this many turns is kept: a layer that is
/// recomputed before its backward, the head between the last layer's forward and backward.
constexpr int turns_kept = 2;

class CopyAhead {
 public:
  CopyAhead(StepProgram& p, const std::vector<bool>& kept_away, int read_ahead)
      : p_(p),
        kept_away_(kept_away),
        read_ahead_(read_ahead),
        turns_(p.steady, ComputeSlots::Of::blocks_and_parameters),
        all_turns_(p.steady, ComputeSlots::Of::blocks_and_parameters_anywhere),
        before_(p.steady.size()),
        after_(p.steady.size()) {}

  void apply() {
    struct Window {
      BufferId on_device = none;
      int last_turn = 0;
    };
    std::map<BufferId, Window> open;
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& i = p_.steady[k];
      for (Use& u : i.uses) {
        const BufferId home = u.buffer;
        if (!is_kept_away(home)) continue;
        const bool on_disk = buffer(home).space == Space::disk;
        if (i.lane == Lane::host) {
          if (on_disk) u.buffer = pass_through_host(home, u.how, k);
          continue;
        }
        const int turn = turns_.of[k];
        const auto [it, is_new] = open.try_emplace(home);
        Window& window = it->second;
        if (is_new || turn - window.last_turn > turns_kept) {
          window.on_device = add_on_device(home);
          const auto ahead = static_cast<std::size_t>(
              turns_.begin[static_cast<std::size_t>(std::max(0, turn - 1))]);
          before_[ahead].push_back(copy(on_disk ? read_for(ahead, home, i.micro) : home,
                                        window.on_device, Lane::copy_in, i.micro));
        }
        window.last_turn = turn;
        u.buffer = window.on_device;
        if (!writes(u.how)) continue;
        const BufferId back = on_disk ? add_slot(home) : home;
        after_[k].push_back(copy(window.on_device, back, Lane::copy_out, i.micro));
        if (on_disk) write_behind(k, back, home);
      }
    }
    insert();
  }

 private:
  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }
  bool is_kept_away(BufferId b) const {
    const auto k = static_cast<std::size_t>(b);
    return k < kept_away_.size() && kept_away_[k];
  }

  /// As the weights that blocks compute with, whatever they are at home.
  BufferId add_on_device(BufferId home) {
    Buffer here = buffer(home);
    here.role = Role::parameter;
    here.item = none;
    here.unit = Unit::element;
    here.resident = false;
    here.space = Space::device;
    here.name += "^" + (++copies_[home] == 1 ? "" : std::to_string(copies_[home]));
    return add_buffer(p_, std::move(here));
  }

  /// For an update on the host, at that position: a buffer there.
  BufferId pass_through_host(BufferId home, How how, std::size_t position) {
    const BufferId slot = read_for(position, home, none);
    if (writes(how)) write_behind(position, slot, home);
    return slot;
  }

  /// A buffer on the host into which it is read ahead of that position, but behind what was
  /// written of it before.
  BufferId read_for(std::size_t position, BufferId home, int micro) {
    const auto ahead = static_cast<std::size_t>(
        all_turns_
            .begin[static_cast<std::size_t>(std::max(0, all_turns_.of[position] - read_ahead_))]);
    const auto written = written_.find(home);
    const BufferId slot = add_slot(home);
    before_[written == written_.end() ? ahead : std::max(ahead, written->second + 1)].push_back(
        copy(home, slot, Lane::disk, micro));
    return slot;
  }

  void write_behind(std::size_t position, BufferId slot, BufferId home) {
    after_[position].push_back(copy(slot, home, Lane::disk, none));
    written_[home] = position;
  }

  BufferId add_slot(BufferId home) {
    Buffer slot = buffer(home);
    slot.resident = false;
    slot.space = Space::host;
    slot.name += "'" + (++slots_[home] == 1 ? "" : std::to_string(slots_[home]));
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
    return {Op::copy,
            none,
            micro,
            lane,
            {Use{from, How::read, CopySlot::from}, Use{to, How::overwrite, CopySlot::to}}};
  }

  StepProgram& p_;
  const std::vector<bool>& kept_away_;
  int read_ahead_;
  ComputeSlots turns_, all_turns_;  // all: also of updates on the host
  // by position in steady: what is inserted there
  std::vector<std::vector<Instruction>> before_, after_;
  // of what is on the disk: the last position behind which it is written so far
  std::map<BufferId, std::size_t> written_;
  std::map<BufferId, int> copies_, slots_;  // on the device and on the host, made so far
};

}  // namespace

void copy_ahead(StepProgram& p, const std::vector<bool>& kept_away, int read_ahead) {
  CopyAhead(p, kept_away, read_ahead).apply();
}

}  // namespace trainx::passes
