#include "program/plain.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <set>
#include <unordered_map>

namespace trainx::program {
namespace {

/// Makes buffers as the first use names them, so that a program holds only what it uses.
class Builder {
 public:
  Builder(StepProgram& p, const ModelGraph& graph) : p_(p), graph_(graph) {
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      ids_.emplace(p.buffers[b].name, static_cast<BufferId>(b));
  }

  BufferId named(const std::string& name) const {
    const auto it = ids_.find(name);
    return it == ids_.end() ? none : it->second;
  }
  BufferId find_or_add(Buffer buffer) {
    const auto [it, is_new] = ids_.try_emplace(buffer.name, none);
    if (is_new) it->second = add_buffer(p_, std::move(buffer));
    return it->second;
  }

  BufferId operand(int block, Slot slot, bool keep_saved) {
    const BlockSpec& b = graph_.blocks[block];
    const SlotSpec& s = b.slots[slot];
    const auto k = static_cast<std::size_t>(s.index);
    switch (s.kind) {
      case Kind::value:
        return find_or_add({graph_.values[k].name, s.kind, s.index, 0, graph_.values[k].bytes()});
      case Kind::value_gradient:
        return find_or_add(
            {"d" + graph_.values[k].name, s.kind, s.index, 0, graph_.values[k].bytes()});
      case Kind::batch:
        return find_or_add({graph_.batch[k].name, s.kind, none, 0, graph_.batch[k].bytes()});
      case Kind::parameter:
        return graph_.stored ? cast_of(s.index) : named("w." + graph_.groups[k].name);
      case Kind::gradient:
        return find_or_add({"g." + graph_.groups[k].name, s.kind, s.index, none,
                            graph_.groups[k].elements * size_of(DType::f32)});
      case Kind::scalar:
        return find_or_add({graph_.scalars[k].name, s.kind, none, none, graph_.scalars[k].bytes()});
      case Kind::saved:
        return find_or_add({b.name + "." + s.name, keep_saved ? Kind::saved : Kind::scratch, block,
                            0, s.tensor.bytes(), s.space});
      case Kind::scratch: return scratch(block, s);
      case Kind::state: break;
    }
    throw InternalError("block " + b.name + ": slot " + s.name + " cannot be a " +
                        std::string(name_of(s.kind)));
  }

  /// The block's operation, if it has that phase.
  void add_block_op(Op op, int block, bool keep_saved = true) {
    const auto& phases = graph_.blocks[block].phases;
    const auto phase = phases.find(op);
    if (phase == phases.end()) return;
    Instruction i{op, block, 0};
    for (const SlotUse& u : phase->second.uses)
      i.uses.push_back(whole(p_, operand(block, u.slot, keep_saved), u.how, u.slot));
    p_.steady.push_back(std::move(i));
  }

  /// The block's parameters in what it computes in, but for those that the operation before this
  /// one had: at most those of two neighbours live at one time.
  void add_casts(Op op, int block) {
    const auto& phases = graph_.blocks[block].phases;
    const auto phase = phases.find(op);
    if (!graph_.stored || phase == phases.end()) return;
    std::set<int> used;
    for (const SlotUse& u : phase->second.uses)
      if (const SlotSpec& s = graph_.blocks[block].slots[u.slot];
          s.kind == Kind::parameter && used.insert(s.index).second && !at_hand_.contains(s.index))
        p_.steady.push_back(
            {Op::cast,
             s.index,
             0,
             Lane::compute,
             {whole(p_, named("w." + graph_.groups[s.index].name), How::read, CopySlot::from),
              whole(p_, cast_of(s.index), How::overwrite, CopySlot::to)}});
    at_hand_ = std::move(used);
  }

  /// All batch tensors are one record of the loader, also where a model ignores one of them.
  void add_fetch() {
    Instruction i{Op::fetch_batch, none, 0};
    i.uses.push_back(whole(p_, named("step"), How::read, FetchSlot::step));
    for (std::size_t k = 0; k < graph_.batch.size(); ++k) {
      const BufferId b =
          find_or_add({graph_.batch[k].name, Kind::batch, none, 0, graph_.batch[k].bytes()});
      i.uses.push_back(whole(p_, b, How::overwrite, FetchSlot::first_batch + static_cast<Slot>(k)));
    }
    p_.steady.push_back(std::move(i));
  }

  /// Adds the use if there is such a buffer.
  void use_if_any(Instruction& i, const std::string& name, How how, Slot slot) const {
    if (const BufferId b = named(name); b != none) i.uses.push_back(whole(p_, b, how, slot));
  }

 private:
  BufferId cast_of(int group) {
    const GroupSpec& g = graph_.groups[group];
    return find_or_add({std::string(name_of(graph_.compute)) + "." + g.name, Kind::parameter, group,
                        0, g.elements * size_of(graph_.compute)});
  }
  // Each operation's scratch is its own: its life is that of the instruction.
  BufferId scratch(int block, const SlotSpec& s) {
    return add_buffer(
        p_, {graph_.blocks[block].name + "." + s.name, Kind::scratch, block, 0, s.tensor.bytes()});
  }

  StepProgram& p_;
  const ModelGraph& graph_;
  std::unordered_map<std::string, BufferId> ids_;
  std::set<int> at_hand_;  // groups whose parameters the last operation had cast
};

void add_residents(StepProgram& p, const ModelGraph& graph, const UpdateSpec& update) {
  auto resident = [&](std::string name, Kind kind, int owner, Bytes size, bool of_tensors = false,
                      bool of_blocks = false) {
    add_buffer(p, {std::move(name), kind, owner, none, size, Space::device, false, true, of_tensors,
                   of_blocks});
  };
  const Bytes master_bytes = update.master == Master::fp32    ? 4
                             : update.master == Master::split ? 2
                                                              : 0;
  for (std::size_t k = 0; k < graph.groups.size(); ++k) {
    const GroupSpec& group = graph.groups[k];
    const int owner = static_cast<int>(k);
    resident("w." + group.name, Kind::parameter, owner, group.elements * size_of(graph.compute));
    if (master_bytes)
      resident("master." + group.name, Kind::state, owner, group.elements * master_bytes);
    for (const StateSpec& s : update.states)
      if (const std::int64_t entries = state_layout(s, group).entries)
        resident(s.name + "." + group.name, Kind::state, owner, entries * size_of(s.dtype),
                 update.unit == Unit::tensor && s.dims, update.unit == Unit::block);
  }
  resident("step", Kind::scalar, none, size_of(DType::i64));
  resident("applied", Kind::scalar, none, size_of(DType::i64));
  resident("lr_table", Kind::scalar, none, update.lr_table_entries * size_of(DType::f64));
}

void add_update(StepProgram& p, const Builder& builder, const UpdateSpec& update, int group,
                const std::string& name) {
  Instruction i{Op::update, group};
  builder.use_if_any(i, "g." + name, How::read, UpdateSlot::gradient);
  builder.use_if_any(i, "norm2", How::read, UpdateSlot::norm2);
  builder.use_if_any(i, "target_count", How::read, UpdateSlot::target_count);
  builder.use_if_any(i, "applied", How::read, UpdateSlot::applied);
  builder.use_if_any(i, "lr_table", How::read, UpdateSlot::lr_table);
  builder.use_if_any(i, "loss_scale", How::read, UpdateSlot::loss_scale);
  for (std::size_t s = 0; s < update.states.size(); ++s)
    builder.use_if_any(i, update.states[s].name + "." + name, How::modify,
                       UpdateSlot::first_state + static_cast<Slot>(s));
  builder.use_if_any(i, "master." + name, How::modify, UpdateSlot::master);
  builder.use_if_any(i, "w." + name, How::modify, UpdateSlot::parameter);
  p.steady.push_back(std::move(i));
}

}  // namespace

StepProgram plain_program(const ModelGraph& graph, const UpdateSpec& update) {
  if (graph.stored)
    throw InternalError("training computes in the type that its parameters are stored in");
  StepProgram p;
  add_residents(p, graph, update);
  // A scalar that is read and never summed (a loss scale) is kept from step to step.
  std::vector<std::string> kept_scalars;
  for (std::size_t k = 0; k < graph.scalars.size(); ++k)
    if (is_kept_scalar(graph, static_cast<int>(k))) {
      kept_scalars.push_back(graph.scalars[k].name);
      add_buffer(p, {graph.scalars[k].name, Kind::scalar, none, none, graph.scalars[k].bytes(),
                     Space::device, false, true});
    }
  Builder builder(p, graph);
  const int blocks = static_cast<int>(graph.blocks.size());
  builder.add_fetch();
  for (int b = 0; b < blocks; ++b) builder.add_block_op(Op::forward, b);
  for (int b = 0; b < blocks; ++b) builder.add_block_op(Op::loss, b);
  for (int b = blocks; b-- > 0;) builder.add_block_op(Op::backward, b);

  p.steady.push_back({Op::advance_step,
                      none,
                      none,
                      Lane::compute,
                      {whole(p, builder.named("step"), How::modify, AdvanceSlot::counter)}});
  const BufferId norm2 =
      builder.find_or_add({"norm2", Kind::scalar, none, none, size_of(DType::f64)});
  Instruction norm{Op::grad_norm};
  for (std::size_t k = 0; k < graph.groups.size(); ++k)
    builder.use_if_any(norm, "g." + graph.groups[k].name, How::read,
                       NormSlot::first_gradient + static_cast<Slot>(k));
  norm.uses.push_back(whole(p, norm2, How::overwrite, NormSlot::norm2));
  p.steady.push_back(std::move(norm));
  for (std::size_t k = 0; k < graph.groups.size(); ++k)
    if (builder.named("g." + graph.groups[k].name) != none)
      add_update(p, builder, update, static_cast<int>(k), graph.groups[k].name);
  auto advance_with_norm = [&](const std::string& name, Slot slot) {
    p.steady.push_back({Op::advance_applied,
                        none,
                        none,
                        Lane::compute,
                        {whole(p, norm2, How::read, AdvanceSlot::norm2),
                         whole(p, builder.named(name), How::modify, slot)}});
  };
  advance_with_norm("applied", AdvanceSlot::counter);
  Instruction report{Op::report};
  builder.use_if_any(report, "loss_sum", How::read, ReportSlot::loss_sum);
  builder.use_if_any(report, "target_count", How::read, ReportSlot::target_count);
  builder.use_if_any(report, "norm2", How::read, ReportSlot::norm2);
  builder.use_if_any(report, "applied", How::read, ReportSlot::applied);
  builder.use_if_any(report, "lr_table", How::read, ReportSlot::lr_table);
  builder.use_if_any(report, "loss_scale", How::read, ReportSlot::loss_scale);
  p.steady.push_back(std::move(report));
  for (const std::string& name : kept_scalars) advance_with_norm(name, AdvanceSlot::loss_scale);
  first_writer_overwrites(p);
  return p;
}

StepProgram forward_program(const StepProgram& train, const ModelGraph& graph, Op last) {
  if (last != Op::evaluate && last != Op::predict)
    throw InternalError("forward_program ends in evaluate or predict");
  StepProgram p;
  p.world_size = train.world_size;
  p.shard_ranks = train.shard_ranks;
  for (const Buffer& b : train.buffers) {
    if (!b.resident) break;
    p.buffers.push_back(b);
  }
  Builder builder(p, graph);
  const int blocks = static_cast<int>(graph.blocks.size());
  builder.add_fetch();
  for (const Op op : {Op::forward, last})
    for (int b = 0; b < blocks; ++b) {
      builder.add_casts(op, b);
      builder.add_block_op(op, b, false);
    }
  if (last == Op::evaluate) {
    Instruction report{Op::report};
    builder.use_if_any(report, "loss_sum", How::read, ReportSlot::loss_sum);
    builder.use_if_any(report, "target_count", How::read, ReportSlot::target_count);
    for (std::size_t k = 0; k < graph.scalars.size(); ++k)
      if (const std::string& name = graph.scalars[k].name;
          name != "loss_sum" && name != "target_count" &&
          !is_kept_scalar(graph, static_cast<int>(k)))
        builder.use_if_any(report, name, How::read,
                           ReportSlot::first_metric + static_cast<Slot>(k));
    p.steady.push_back(std::move(report));
  }
  first_writer_overwrites(p);
  return p;
}

bool is_kept_scalar(const ModelGraph& graph, int scalar) {
  bool used = false;
  for (const BlockSpec& b : graph.blocks)
    for (const auto& [op, phase] : b.phases)
      for (const SlotUse& u : phase.uses) {
        const SlotSpec& s = b.slots[u.slot];
        if (s.kind != Kind::scalar || s.index != scalar) continue;
        if (writes(u.how)) return false;
        used = true;
      }
  return used;
}

void first_writer_overwrites(StepProgram& p) {
  std::vector<std::vector<Range>> written(p.buffers.size());
  for (Instruction& i : p.steady)
    for (Use& u : i.uses) {
      const Buffer& b = p.buffers[u.buffer];
      // Of scalars only the sums of blocks have several writers.
      const bool accumulated = b.kind == Kind::gradient || b.kind == Kind::value_gradient ||
                               (b.kind == Kind::scalar && i.block != none && !b.resident);
      if (!accumulated || (u.how != How::overwrite && u.how != How::accumulate)) continue;
      auto& before = written[u.buffer];
      Bytes covered = 0;  // ranges in `before` do not overlap
      for (const Range& r : before)
        covered +=
            std::max<Bytes>(0, std::min(r.end, u.range.end) - std::max(r.begin, u.range.begin));
      if (covered != 0 && covered != u.range.end - u.range.begin)
        throw InternalError(std::string(name_of(i.op)) + " writes a range of " + b.name +
                            " of which another instruction wrote a part: cut its use there");
      u.how = covered ? How::accumulate : How::overwrite;
      if (!covered) before.push_back(u.range);
    }
}

}  // namespace trainx::program
