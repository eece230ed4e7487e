#include "core/error.hpp"
#include "passes/copy_ahead.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/summed.hpp"
#include "program/launch.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <utility>

namespace trainx::passes {

using namespace program;

namespace {

class OptimizerOffload {
 public:
  OptimizerOffload(StepProgram& p, const OptimizerOffloadOptions& how) : p_(p), how_(how) {}

  /// `norm_in_parts`: the norm is summed as gradients become complete already.
  void apply(bool norm_in_parts) {
    move_residents();
    add_weights_on_host();
    after_.resize(p_.steady.size());
    ahead_of_.resize(p_.steady.size());
    back_.resize(p_.steady.size());
    copy_gradients();
    if (!norm_in_parts) part_norm();
    read_from_disk();
    update_on_host();
    end_with_updates();
    bring_averages();
  }

 private:
  Buffer& buffer(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }
  OptimizerLocation location_of(int group) const {
    return how_.locations.empty() ? OptimizerLocation::host
                                  : how_.locations.at(static_cast<std::size_t>(group));
  }

  /// What updates alone need; and the table of learning rates, of which a report reads an entry
  /// wherever it lies.
  void move_residents() {
    const bool on_host = how_.locations.empty() ||
                         std::ranges::any_of(how_.locations, [](OptimizerLocation k) {
                           return k != OptimizerLocation::device;
                         });
    for (Buffer& b : p_.buffers) {
      if (!b.resident) continue;
      if (b.role == Role::learning_rates && on_host) b.space = Space::host;
      if (is_optimizer_state(b.role) && location_of(b.index) != OptimizerLocation::device)
        b.space = location_of(b.index) == OptimizerLocation::host ? Space::host : Space::disk;
    }
  }

  /// The weights that updates read and write, beside those that blocks read. Residents come first,
  /// in all programs of a run alike. Of what is on the disk they are copied from the device
  /// instead, which has the same: that takes no host memory and is faster than the disk.
  void add_weights_on_host() {
    const auto first = static_cast<BufferId>(
        std::ranges::find(p_.buffers, false, &Buffer::resident) - p_.buffers.begin());
    std::vector<Buffer> added;
    for (BufferId b = 0; b < first; ++b) {
      if (buffer(b).role != Role::parameter ||
          location_of(buffer(b).index) != OptimizerLocation::host)
        continue;
      weights_[b] = first + static_cast<BufferId>(added.size());
      added.push_back(on_host(buffer(b)));
      added.back().resident = true;
    }
    for (Instruction& i : p_.steady)
      for (Use& u : i.uses)
        if (u.buffer >= first) u.buffer += static_cast<BufferId>(added.size());
    p_.buffers.insert(p_.buffers.begin() + first, added.begin(), added.end());
  }

  Buffer on_host(Buffer b) {
    const int before = copies_of_[b.name]++;
    b.name += before == 0 ? "'" : "'" + std::to_string(before + 1);
    b.space = Space::host;
    b.resident = false;
    return b;
  }

  Instruction copy(BufferId from, BufferId to) {
    const bool with_disk = buffer(from).space == Space::disk || buffer(to).space == Space::disk;
    const Lane lane = with_disk                         ? Lane::disk
                      : buffer(to).space == Space::host ? Lane::copy_out
                                                        : Lane::copy_in;
    return {Op::copy,
            none,
            none,
            lane,
            {Use{from, How::read, CopySlot::from}, Use{to, How::overwrite, CopySlot::to}}};
  }

  std::size_t last_writer(BufferId b, std::size_t before) {
    while (before-- > 0)
      for (const Use& u : p_.steady[before].uses)
        if (u.buffer == b && writes(u.how)) return before;
    throw InternalError("optimizer_offload: nothing writes " + buffer(b).name);
  }

  /// Each goes out once it is complete; where it is rounded for that, once the computation has come
  /// to it.
  void copy_gradients() {
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      if (p_.steady[k].op != Op::update ||
          location_of(p_.steady[k].group) == OptimizerLocation::device)
        continue;
      for (Use& u : p_.steady[k].uses) {
        if (u.slot != UpdateSlot::gradient) continue;
        std::size_t position = last_writer(u.buffer, k);
        BufferId from = u.buffer;
        Buffer out = on_host(buffer(from));
        if (how_.rounded) {
          position = beside_sum(p_.steady, position);
          from = rounded(from, position);
          out.dtype = DType::bf16;
        }
        const BufferId to = add_buffer(p_, std::move(out));
        after_[position].push_back(copy(from, to));
        u = Use{to, u.how, u.slot};
      }
    }
  }

  /// The gradient in bf16, made behind that position.
  BufferId rounded(BufferId gradient, std::size_t position) {
    Buffer b = buffer(gradient);
    b.name = "bf16." + b.name;
    b.dtype = DType::bf16;
    const BufferId to = add_buffer(p_, std::move(b));
    after_[position].push_back(
        {Op::cast,
         none,
         none,
         Lane::compute,
         {Use{gradient, How::read, CopySlot::from}, Use{to, How::overwrite, CopySlot::to}}});
    return to;
  }

  /// The norm of all gradients as a sum of parts, each made once its gradients are complete: they
  /// need not wait for the others then.
  void part_norm() {
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      if (p_.steady[k].op != Op::grad_norm) continue;
      // gradients, by position of what they come behind
      std::map<std::size_t, std::vector<Use>> parts;
      Use norm2{};
      for (const Use& u : p_.steady[k].uses)
        if (u.slot == NormSlot::norm2)
          norm2 = u;
        else
          parts[beside_sum(p_.steady, last_writer(u.buffer, k))].push_back(u);
      if (parts.empty()) continue;  // stays 0, to which parts of other norms are added
      bool first = true;
      for (auto& [position, uses] : parts) {
        norm2.how = std::exchange(first, false) ? How::overwrite : How::accumulate;
        uses.push_back(norm2);
        after_[position].insert(
            after_[position].begin(),
            Instruction{Op::grad_norm, none, none, Lane::compute, std::move(uses)});
      }
      p_.steady[k].uses.clear();
    }
  }

  /// What is on the disk is read into buffers on the host, `read_ahead` updates before the one that
  /// needs it and the first at the step's beginning, and written behind the update: so many groups'
  /// buffers, that of the update and of the one before it, which is still being written, are alive
  /// at a time.
  void read_from_disk() {
    std::vector<std::size_t> updates;  // of what is on the disk, by position
    for (std::size_t k = 0; k < p_.steady.size(); ++k)
      if (p_.steady[k].op == Op::update &&
          location_of(p_.steady[k].group) == OptimizerLocation::disk)
        updates.push_back(k);
    for (std::size_t n = 0; n < updates.size(); ++n) {
      const auto ahead = static_cast<std::size_t>(how_.read_ahead);
      std::vector<Instruction>& reads_here = ahead_of_[n < ahead ? 0 : updates[n - ahead]];
      for (Use& u : p_.steady[updates[n]].uses) {
        const BufferId home = u.buffer;
        if (buffer(home).space != Space::disk && u.slot != UpdateSlot::parameter) continue;
        const BufferId slot = add_buffer(p_, on_host(buffer(home)));
        if (reads(u.how)) reads_here.push_back(copy(home, slot));
        if (writes(u.how)) back_[updates[n]].push_back(copy(slot, home));
        u = Use{slot, u.how, u.slot};
      }
    }
  }

  /// In the lane of the host, over copies of the step's scalars as they are then; the weights come
  /// back behind each update.
  void update_on_host() {
    std::vector<Instruction> steady;
    std::map<BufferId, BufferId> copies;  // of scalars, until they change
    const auto add = [&](Instruction i) {
      for (const Use& u : i.uses)
        if (writes(u.how)) copies.erase(u.buffer);
      steady.push_back(std::move(i));
    };
    for (std::size_t k = 0; k < p_.steady.size(); ++k) {
      Instruction& i = p_.steady[k];
      for (Instruction& r : ahead_of_[k]) add(std::move(r));
      if (i.op == Op::update && location_of(i.group) != OptimizerLocation::device) {
        std::vector<Instruction> back = std::move(back_[k]);
        for (Use& u : i.uses) {
          if (const auto w = weights_.find(u.buffer); w != weights_.end()) {
            back.push_back(copy(w->second, u.buffer));
            u = Use{w->second, u.how, u.slot};
          } else if (buffer(u.buffer).space != Space::host) {
            const auto [scalar, is_new] = copies.try_emplace(u.buffer, none);
            if (is_new) {
              scalar->second = add_buffer(p_, on_host(buffer(u.buffer)));
              steady.push_back(copy(u.buffer, scalar->second));
            }
            u = Use{scalar->second, u.how, u.slot};
          }
        }
        i.lane = Lane::host;
        add(std::move(i));
        for (Instruction& b : back) add(std::move(b));
      } else if (!(i.op == Op::grad_norm && i.uses.empty())) {
        add(std::move(i));
      }
      for (Instruction& b : after_[k]) add(std::move(b));
    }
    p_.steady = std::move(steady);
  }

  /// The updates behind all blocks come last, with what is copied for them and what hangs on them:
  /// the next step begins beside them then (program/launch.hpp).
  void end_with_updates() {
    const auto last_block = std::find_if(p_.steady.rbegin(), p_.steady.rend(), is_of_block).base();
    std::vector<Instruction> before, last;
    for (auto i = last_block; i != p_.steady.end(); ++i) {
      const bool of_updates = last.empty() ? i->op == Op::update && i->lane == Lane::host
                                           : runs_async(*i);
      const bool waits =
          std::ranges::any_of(last, [&](const Instruction& other) { return meet(*i, other); });
      (of_updates || waits ? last : before).push_back(std::move(*i));
    }
    std::move(last.begin(), last.end(), std::move(before.begin(), before.end(), last_block));
  }

  /// An average of the weights comes to the device where blocks compute with it.
  void bring_averages() {
    std::vector<bool> needed(p_.buffers.size());
    for (const Instruction& i : p_.steady)
      for (const Use& u : i.uses)
        if (const Buffer& b = buffer(u.buffer);
            b.role == Role::state && b.resident && b.space != Space::device &&
            (i.lane == Lane::compute || i.lane == Lane::communication))
          needed[static_cast<std::size_t>(u.buffer)] = true;
    if (std::ranges::find(needed, true) != needed.end()) copy_ahead(p_, needed, how_.read_ahead);
  }

  StepProgram& p_;
  const OptimizerOffloadOptions& how_;
  std::map<BufferId, BufferId> weights_;  // on the host, by those that blocks read
  std::map<std::string, int> copies_of_;  // by name: made so far
  // by position in steady: what is inserted there; back_: behind an update
  std::vector<std::vector<Instruction>> after_, ahead_of_, back_;
};

}  // namespace

StepProgram optimizer_offload(StepProgram p, const OptimizerOffloadOptions& how) {
  const bool norm_in_parts = p.last_pass == static_cast<int>(Pass::update_in_backward);
  enter(p, Pass::optimizer_offload);
  OptimizerOffload(p, how).apply(norm_in_parts);
  return p;
}

}  // namespace trainx::passes
