#include "program/plain.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace trainx::program {
namespace {

std::string name_of_parameters(const GroupSpec& group) { return "w." + group.name; }
std::string name_of_gradient(const GroupSpec& group) { return "g." + group.name; }

/// Makes buffers as the first use names them, so that a program holds only what it uses.
class Builder {
 public:
  Builder(StepProgram& p, const ModelGraph& graph, int average = none)
      : p_(p), graph_(graph), average_(average) {
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      ids_.try_emplace(key_of(p.buffers[b]), static_cast<BufferId>(b));
  }

  /// none where there is no such buffer; see Buffer::index and item.
  BufferId find(Role role, int index = none, int item = none) const {
    const auto it = ids_.find({role, index, item});
    return it == ids_.end() ? none : it->second;
  }
  /// A new one is called as `name()` says.
  template <class Name>
  BufferId find_or_add(Buffer buffer, const Name& name) {
    const auto [it, is_new] = ids_.try_emplace(key_of(buffer), none);
    if (is_new) {
      buffer.name = name();
      it->second = add_buffer(p_, std::move(buffer));
    }
    return it->second;
  }

  BufferId operand(int block, Slot slot, bool keep_saved) {
    const BlockSpec& b = graph_.blocks[block];
    const SlotSpec& s = b.slots[slot];
    const auto k = static_cast<std::size_t>(s.index);
    const auto like = [&](DType dtype, std::int64_t elements, int micro, const auto& name) {
      return find_or_add(
          {.role = s.role, .index = s.index, .micro = micro, .dtype = dtype, .elements = elements},
          name);
    };
    const auto tensor = [&](const TensorSpec& t, int micro, const char* before = "") {
      return like(t.dtype, t.elements(), micro, [&] { return before + t.name; });
    };
    if (is_scalar(s.role)) return tensor(graph_.scalars[k], none);
    switch (s.role) {
      case Role::value: return tensor(graph_.values[k], 0);
      case Role::value_gradient: return tensor(graph_.values[k], 0, "d");
      case Role::batch: return tensor(graph_.batch[k], 0);
      case Role::parameter:
        return graph_.groups[k].fp8 ? in_fp8(s.index)
               : is_cast(s.index)   ? cast_of(s.index)
                                    : stored(s.index);
      case Role::gradient:
        return like(DType::f32, graph_.groups[k].elements, none,
                    [&] { return name_of_gradient(graph_.groups[k]); });
      case Role::saved:
        return find_or_add({.role = keep_saved ? Role::saved : Role::scratch,
                            .index = block,
                            .item = slot,
                            .micro = 0,
                            .dtype = s.tensor.dtype,
                            .elements = s.tensor.elements(),
                            .space = s.space},
                           [&] { return b.name + "." + s.name; });
      case Role::cast_weight:
        if (s.once_a_run) return kept_copy(block, slot);
        if (!keep_saved) return scratch(block, s);
        return find_or_add({.role = Role::cast_weight,
                            .index = block,
                            .item = slot,
                            .micro = 0,
                            .dtype = s.tensor.dtype,
                            .elements = s.tensor.elements()},
                           [&] { return b.name + "." + s.name; });
      case Role::scratch: return scratch(block, s);
      default: break;
    }
    throw InternalError("block " + b.name + ": slot " + s.name + " cannot be a " +
                        std::string(name_of(s.role)));
  }

  /// The block's operation, if it has that phase.
  void add_block_op(Op op, int block, bool training = true) {
    const auto& phases = graph_.blocks[block].phases;
    const auto phase = phases.find(op);
    if (phase == phases.end()) return;
    Instruction i{op, block, 0};
    i.uses.reserve(phase->second.uses.size());
    for (const SlotUse& u : phase->second.uses)
      if (training || !serves_training_alone(graph_.blocks[block], u.slot))
        i.uses.push_back(Use{operand(block, u.slot, training), u.how, u.slot});
    p_.steady.push_back(std::move(i));
  }

  /// What is made of weights once a run, which is resident.
  void add_once() {
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      const auto phase = graph_.blocks[b].phases.find(Op::cast_weights);
      if (phase == graph_.blocks[b].phases.end()) continue;
      Instruction i{Op::cast_weights, static_cast<int>(b)};
      for (const SlotUse& u : phase->second.uses)
        i.uses.push_back(Use{operand(i.block, u.slot, true), u.how, u.slot});
      p_.once.push_back(std::move(i));
    }
  }

  /// The block's parameters in what it computes in, but for those that the operation before this
  /// one had: at most those of two neighbours live at one time.
  void add_casts(Op op, int block) {
    const auto& phases = graph_.blocks[block].phases;
    const auto phase = phases.find(op);
    if (phase == phases.end()) return;
    std::set<int> used;
    for (const SlotUse& u : phase->second.uses)
      if (const SlotSpec& s = graph_.blocks[block].slots[u.slot];
          s.role == Role::parameter && !graph_.groups[s.index].fp8 && is_cast(s.index) &&
          used.insert(s.index).second && !at_hand_.contains(s.index))
        p_.steady.push_back({.op = Op::cast,
                             .micro = 0,
                             .uses = {Use{stored(s.index), How::read, CopySlot::from},
                                      Use{cast_of(s.index), How::overwrite, CopySlot::to}},
                             .group = s.index});
    at_hand_ = std::move(used);
  }

  /// Groups that blocks read in fp8: their scales, and what they are in that.
  void add_quantize(bool training) {
    Instruction scale{Op::fp8_scale}, quantize{Op::quantize};
    for (int k = 0; k < static_cast<int>(graph_.groups.size()); ++k)
      if (graph_.groups[k].fp8) {
        scale.uses.push_back(Use{stored(k), How::read, QuantizeSlot::from(k)});
        quantize.uses.push_back(scale.uses.back());
        quantize.uses.push_back(Use{in_fp8(k), How::overwrite, QuantizeSlot::to(k)});
      }
    if (scale.uses.empty()) return;
    const BufferId scales =
        buffer_of([](const ScalarSpec& k) { return k.role == Role::fp8_scales; });
    scale.uses.push_back(Use{scales, How::overwrite, QuantizeSlot::scales});
    quantize.uses.push_back(Use{scales, How::read, QuantizeSlot::scales});
    for (Instruction* i : {&scale, &quantize})
      use_scalar(*i, Role::fp8_ranges, QuantizeSlot::ranges);
    if (training)
      quantize.uses.push_back(
          Use{buffer_of([](const ScalarSpec& k) { return k.name == fp8_counts; }), How::accumulate,
              QuantizeSlot::counts});
    p_.steady.push_back(std::move(scale));
    p_.steady.push_back(std::move(quantize));
  }

  /// All batch tensors are one record of the loader, also where a model ignores one of them.
  void add_fetch() {
    Instruction i{Op::fetch_batch, none, 0};
    i.uses.push_back(Use{find(Role::step), How::read, FetchSlot::step});
    for (std::size_t k = 0; k < graph_.batch.size(); ++k) {
      const BufferId b = find_or_add({.role = Role::batch,
                                      .index = static_cast<int>(k),
                                      .micro = 0,
                                      .dtype = graph_.batch[k].dtype,
                                      .elements = graph_.batch[k].elements()},
                                     [&] { return graph_.batch[k].name; });
      i.uses.push_back(Use{b, How::overwrite, FetchSlot::first_batch + static_cast<Slot>(k)});
    }
    p_.steady.push_back(std::move(i));
  }

  /// Adds the use if there is such a buffer.
  void use_if_any(Instruction& i, BufferId b, How how, Slot slot) const {
    if (b != none) i.uses.push_back(Use{b, how, slot});
  }
  /// What the last block sums beside the loss.
  void use_metrics(Instruction& report) const {
    for (int k = 0; k < static_cast<int>(graph_.scalars.size()); ++k)
      if (graph_.scalars[static_cast<std::size_t>(k)].role == Role::metric)
        use_if_any(report, find(Role::metric, k), How::read, ReportSlot::first_metric + k);
  }
  /// The same of one of them.
  void use_named(Instruction& i, std::string_view name, Slot slot) const {
    for (std::size_t k = 0; k < graph_.scalars.size(); ++k)
      if (graph_.scalars[k].name == name)
        use_if_any(i, find(Role::metric, static_cast<int>(k)), How::read, slot);
  }
  /// The same of a scalar of the graph: the one of that role.
  void use_scalar(Instruction& i, Role role, Slot slot) const {
    for (std::size_t k = 0; k < graph_.scalars.size(); ++k)
      if (graph_.scalars[k].role == role)
        use_if_any(i, find(role, static_cast<int>(k)), How::read, slot);
  }

 private:
  struct Key {
    Role role;
    int index, item;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const Buffer& b) { return {b.role, b.index, b.item}; }

  /// Is it what forward counts in training alone, or a cast weight that only backward reads?
  bool serves_training_alone(const BlockSpec& block, Slot slot) const {
    const SlotSpec& s = block.slots[static_cast<std::size_t>(slot)];
    if (s.role == Role::cast_weight)
      return std::ranges::none_of(block.slots, [&](const SlotSpec& made) {
        return std::ranges::count(made.from, slot) > 0;
      });
    return s.role == Role::metric && graph_.scalars[s.index].name == fp8_counts;
  }
  /// What blocks compute with as it lies in memory: parameters, or their average.
  BufferId stored(int group) const {
    const BufferId averaged = average_ == none ? none : find(Role::state, group, average_);
    return averaged == none ? find(Role::parameter, group) : averaged;
  }
  bool is_cast(int group) const {
    return p_.buffers[static_cast<std::size_t>(stored(group))].dtype != graph_.compute;
  }
  BufferId cast_of(int group) {
    const auto [it, is_new] = casts_.try_emplace(group, none);
    const GroupSpec& g = graph_.groups[group];
    if (is_new)
      it->second = add_buffer(p_, {.name = std::string(name_of(graph_.compute)) + "." + g.name,
                                   .role = Role::parameter,
                                   .index = group,
                                   .micro = 0,
                                   .dtype = graph_.compute,
                                   .elements = g.elements});
    return it->second;
  }
  /// Of the first scalar of the graph for which that holds.
  template <class Holds>
  BufferId buffer_of(const Holds& holds) {
    const auto k =
        static_cast<int>(std::ranges::find_if(graph_.scalars, holds) - graph_.scalars.begin());
    const ScalarSpec& s = graph_.scalars[k];
    return find_or_add({.role = s.role, .index = k, .dtype = s.dtype, .elements = s.elements()},
                       [&] { return s.name; });
  }
  BufferId in_fp8(int group) {
    const auto [it, is_new] = in_fp8_.try_emplace(group, none);
    const GroupSpec& g = graph_.groups[group];
    if (is_new)
      it->second = add_buffer(p_, {.name = "fp8." + g.name,
                                   .role = Role::parameter,
                                   .index = group,
                                   .dtype = DType::u8,
                                   .elements = g.elements});
    return it->second;
  }
  BufferId kept_copy(int block, Slot slot) const {
    const BufferId b = find(Role::cast_weight, block, slot);
    if (b == none)
      throw InternalError("block " + graph_.blocks[block].name +
                          ": no memory for a copy of a weight that is kept for the run");
    return b;
  }
  // Each operation's scratch is its own: its life is that of the instruction.
  BufferId scratch(int block, const SlotSpec& s) {
    return add_buffer(p_, {.name = graph_.blocks[block].name + "." + s.name,
                           .role = Role::scratch,
                           .index = block,
                           .micro = 0,
                           .dtype = s.tensor.dtype,
                           .elements = s.tensor.elements()});
  }

  StepProgram& p_;
  const ModelGraph& graph_;
  int average_;
  std::map<Key, BufferId> ids_;
  std::map<int, BufferId> casts_;  // by group: parameters in what the graph computes in
  std::map<int, BufferId> in_fp8_;
  std::set<int> at_hand_;  // groups whose parameters the last operation had cast
};

void add_residents(StepProgram& p, const ModelGraph& graph, const UpdateSpec& update) {
  const auto add = [&](Buffer b) {
    b.resident = true;
    add_buffer(p, std::move(b));
  };
  for (std::size_t k = 0; k < graph.groups.size(); ++k) {
    const GroupSpec& group = graph.groups[k];
    const int index = static_cast<int>(k);
    add({.name = name_of_parameters(group),
         .role = Role::parameter,
         .index = index,
         .dtype = graph.compute,
         .elements = group.elements});
    if (!group.training.trained) continue;
    if (update.master != Master::absent)
      add({.name = "master." + group.name,
           .role = Role::master,
           .index = index,
           .dtype = update.master == Master::fp32 ? DType::f32 : DType::u16,
           .elements = group.elements});
    for (std::size_t item = 0; item < update.states.size(); ++item) {
      const StateSpec& state = update.states[item];
      const std::int64_t entries = state_layout(state, group).entries;
      if (entries > 0)
        add({.name = state.name + "." + group.name,
             .role = Role::state,
             .index = index,
             .item = static_cast<int>(item),
             .dtype = state.dtype,
             .elements = entries,
             .unit = update.unit == Unit::tensor && !state.dims ? Unit::element : update.unit});
    }
  }
  add({.name = "step", .role = Role::step, .dtype = DType::i64, .elements = 1});
  add({.name = "applied", .role = Role::applied_steps, .dtype = DType::i64, .elements = 1});
  add({.name = "lr_table",
       .role = Role::learning_rates,
       .dtype = DType::f64,
       .elements = update.lr_table_entries});
  for (std::size_t k = 0; k < graph.scalars.size(); ++k)
    if (const ScalarSpec& s = graph.scalars[k]; is_kept_scalar(s.role))
      add({.name = s.name,
           .role = s.role,
           .index = static_cast<int>(k),
           .dtype = s.dtype,
           .elements = s.elements()});
  for (std::size_t b = 0; b < graph.blocks.size(); ++b)
    for (std::size_t k = 0; k < graph.blocks[b].slots.size(); ++k)
      if (const SlotSpec& s = graph.blocks[b].slots[k]; s.once_a_run)
        add({.name = graph.blocks[b].name + "." + s.name,
             .role = Role::cast_weight,
             .index = static_cast<int>(b),
             .item = static_cast<int>(k),
             .dtype = s.tensor.dtype,
             .elements = s.tensor.elements()});
}

void add_update(StepProgram& p, const Builder& builder, const UpdateSpec& update, int group) {
  Instruction i{.op = Op::update, .group = group};
  builder.use_if_any(i, builder.find(Role::gradient, group), How::read, UpdateSlot::gradient);
  builder.use_if_any(i, builder.find(Role::squared_norm), How::read, UpdateSlot::norm2);
  builder.use_scalar(i, Role::target_count, UpdateSlot::target_count);
  builder.use_if_any(i, builder.find(Role::applied_steps), How::read, UpdateSlot::applied);
  builder.use_if_any(i, builder.find(Role::learning_rates), How::read, UpdateSlot::lr_table);
  builder.use_scalar(i, Role::loss_scale, UpdateSlot::loss_scale);
  for (int s = 0; s < static_cast<int>(update.states.size()); ++s)
    builder.use_if_any(i, builder.find(Role::state, group, s), How::modify,
                       UpdateSlot::first_state + s);
  builder.use_if_any(i, builder.find(Role::master, group), How::modify, UpdateSlot::master);
  builder.use_if_any(i, builder.find(Role::parameter, group), How::modify, UpdateSlot::parameter);
  p.steady.push_back(std::move(i));
}

void add_balance(StepProgram& p, const Builder& builder, int group) {
  Instruction i{.op = Op::balance, .group = group};
  builder.use_named(i, expert_loads, UpdateSlot::gradient);
  builder.use_if_any(i, builder.find(Role::squared_norm), How::read, UpdateSlot::norm2);
  builder.use_if_any(i, builder.find(Role::parameter, group), How::modify, UpdateSlot::parameter);
  p.steady.push_back(std::move(i));
}

}  // namespace

StepProgram plain_program(const ModelGraph& graph, const UpdateSpec& update) {
  if (graph.stored)
    throw InternalError("training computes in the type that its parameters are stored in");
  StepProgram p;
  add_residents(p, graph, update);
  Builder builder(p, graph);
  const int blocks = static_cast<int>(graph.blocks.size()),
            groups = static_cast<int>(graph.groups.size());
  builder.add_once();
  builder.add_quantize(true);
  builder.add_fetch();
  for (int b = 0; b < blocks; ++b) builder.add_block_op(Op::forward, b);
  for (int b = 0; b < blocks; ++b) builder.add_block_op(Op::loss, b);
  for (int b = blocks; b-- > 0;) builder.add_block_op(Op::backward, b);

  p.steady.push_back({Op::advance_step,
                      none,
                      none,
                      Lane::compute,
                      {Use{builder.find(Role::step), How::modify, AdvanceSlot::counter}}});
  const BufferId norm2 = builder.find_or_add(
      {.role = Role::squared_norm, .dtype = DType::f64, .elements = 1}, [] { return "norm2"; });
  Instruction norm{Op::grad_norm};
  for (int k = 0; k < groups; ++k)
    builder.use_if_any(norm, builder.find(Role::gradient, k), How::read,
                       NormSlot::first_gradient + k);
  norm.uses.push_back(Use{norm2, How::overwrite, NormSlot::norm2});
  p.steady.push_back(std::move(norm));
  for (int k = 0; k < groups; ++k)
    if (builder.find(Role::gradient, k) != none) add_update(p, builder, update, k);
  auto advance_with_norm = [&](BufferId b, Slot slot) {
    p.steady.push_back({Op::advance_applied,
                        none,
                        none,
                        Lane::compute,
                        {Use{norm2, How::read, AdvanceSlot::norm2}, Use{b, How::modify, slot}}});
  };
  for (int k = 0; k < groups && graph.balance_rate > 0; ++k)
    if (is_balanced(graph.groups[k])) add_balance(p, builder, k);
  const BufferId applied = builder.find(Role::applied_steps);
  advance_with_norm(applied, AdvanceSlot::counter);
  Instruction report{Op::report};
  builder.use_scalar(report, Role::loss_sum, ReportSlot::loss_sum);
  builder.use_scalar(report, Role::target_count, ReportSlot::target_count);
  builder.use_if_any(report, norm2, How::read, ReportSlot::norm2);
  builder.use_if_any(report, applied, How::read, ReportSlot::applied);
  builder.use_if_any(report, builder.find(Role::learning_rates), How::read, ReportSlot::lr_table);
  builder.use_scalar(report, Role::loss_scale, ReportSlot::loss_scale);
  builder.use_metrics(report);
  p.steady.push_back(std::move(report));
  for (std::size_t k = 0; k < graph.scalars.size(); ++k)
    if (const Role role = graph.scalars[k].role; is_kept_scalar(role)) {
      advance_with_norm(builder.find(role, static_cast<int>(k)), role == Role::fp8_ranges
                                                                     ? AdvanceSlot::fp8_ranges
                                                                     : AdvanceSlot::loss_scale);
      if (role == Role::fp8_ranges)
        builder.use_named(p.steady.back(), fp8_counts, AdvanceSlot::fp8_counts);
    }
  first_writer_overwrites(p);
  return p;
}

StepProgram forward_program(const StepProgram& train, const ModelGraph& graph, Op last,
                            int average) {
  if (last != Op::evaluate && last != Op::predict)
    throw InternalError("forward_program ends in evaluate or predict");
  StepProgram p;
  p.mesh = train.mesh;
  for (const Buffer& b : train.buffers) {
    if (!b.resident) break;
    p.buffers.push_back(b);
  }
  Builder builder(p, graph, average);
  const int blocks = static_cast<int>(graph.blocks.size());
  builder.add_once();
  builder.add_quantize(false);
  builder.add_fetch();
  for (const Op op : {Op::forward, last})
    for (int b = 0; b < blocks; ++b) {
      builder.add_casts(op, b);
      builder.add_block_op(op, b, false);
    }
  if (last == Op::evaluate) {
    Instruction report{Op::report};
    builder.use_scalar(report, Role::loss_sum, ReportSlot::loss_sum);
    builder.use_scalar(report, Role::target_count, ReportSlot::target_count);
    builder.use_metrics(report);
    p.steady.push_back(std::move(report));
  }
  first_writer_overwrites(p);
  return p;
}

void first_writer_overwrites(StepProgram& p) {
  std::vector<char> written(p.buffers.size());
  for (Instruction& i : p.steady)
    for (Use& u : i.uses) {
      const Buffer& b = p.buffers[u.buffer];
      // Of scalars only what blocks add up has several writers.
      const bool accumulated =
          b.role == Role::gradient || b.role == Role::value_gradient ||
          (is_scalar(b.role) && !b.resident && (i.block != none || i.op == Op::quantize));
      if (!accumulated || (u.how != How::overwrite && u.how != How::accumulate)) continue;
      u.how = std::exchange(written[u.buffer], true) ? How::accumulate : How::overwrite;
    }
}

}  // namespace trainx::program
