#include "program/reference.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::program {

Symbol joined(const std::vector<Symbol>& cells) {
  if (cells.size() == 1) return cells[0];
  Symbol h = cells.size();
  for (const Symbol c : cells) h = mix(h, c);
  return h;
}

ReferenceState initial_state(const Reference& reference, const GroupCuts& cuts) {
  ReferenceState s;
  for (std::size_t g = 0; g < cuts.size(); ++g) {
    auto cells = [&](Role role, int item = none) {
      std::vector<Symbol> v;
      for (const std::int64_t e : cuts[g])
        v.push_back(initial_symbol(role, static_cast<int>(g), item, e));
      return v;
    };
    auto& group = s.groups.emplace_back();
    group.parameter = cells(Role::parameter);
    const bool trained = reference.graph->groups[g].training.trained;
    if (trained && reference.update.master != Master::absent) group.master = cells(Role::master);
    for (int item = 0; item < static_cast<int>(reference.update.states.size()); ++item) {
      const StateSpec& state = reference.update.states[static_cast<std::size_t>(item)];
      const bool kept = trained && state_layout(state, reference.graph->groups[g]).entries > 0,
                 of_tensors = reference.update.unit == Unit::tensor && state.dims;
      group.states.push_back(
          !kept        ? std::vector<Symbol>{}
          : of_tensors ? std::vector{initial_symbol(Role::state, static_cast<int>(g), item, 0)}
                       : cells(Role::state, item));
    }
  }
  s.step = initial_symbol(Role::step, none, none, 0);
  s.applied = initial_symbol(Role::applied_steps, none, none, 0);
  s.lr_table = initial_symbol(Role::learning_rates, none, none, 0);
  for (int k = 0; k < static_cast<int>(reference.graph->scalars.size()); ++k) {
    const Role role = reference.graph->scalars[static_cast<std::size_t>(k)].role;
    s.kept_scalars.push_back(is_kept_scalar(role) ? initial_symbol(role, k, none, 0) : 0);
  }
  return s;
}

namespace {

/// The pieces of a value: those of each rank that shares a batch or the parts of a layer, and of
/// each as many slots as ranks share experts.
struct Pieces {
  std::size_t ranks = 1, slots = 1;
  std::size_t count() const { return ranks * slots; }
};

/// How many ranks have their own rows of a batch, or their own parts of a layer.
std::size_t ranks_of_batch(const ModelGraph& graph) {
  std::size_t ranks = 1;
  for (const BlockSpec& b : graph.blocks)
    if (b.parts.own_alone) ranks = std::max(ranks, static_cast<std::size_t>(b.parts.count));
  return ranks;
}

/// By value.
std::vector<Pieces> pieces_of_values(const ModelGraph& graph) {
  const std::size_t ranks = ranks_of_batch(graph);
  std::vector<Pieces> pieces;
  for (const int slots : parts_of_values(graph))
    pieces.push_back({slots > 1 ? ranks : 1, static_cast<std::size_t>(slots)});
  for (const BlockSpec& b : graph.blocks)
    for (const SlotSpec& s : b.slots)
      if (b.parts.own_alone && (s.role == Role::value || s.role == Role::value_gradient))
        pieces[static_cast<std::size_t>(s.index)].ranks = ranks;
  return pieces;
}

/// A computation of a block: for one of the ranks that share a batch, by one part of what ranks
/// share.
struct BlockRun {
  std::size_t rank = 0, part = 0;
};

std::vector<BlockRun> runs_of(const BlockParts& parts, std::size_t ranks_of_batch) {
  if (!parts.are_several()) return {{}};
  const auto count = static_cast<std::size_t>(parts.count);
  std::vector<BlockRun> runs;
  for (std::size_t rank = 0; rank < (parts.own_alone ? count : ranks_of_batch); ++rank)
    for (std::size_t part = 0; part < (parts.own_alone ? 1 : count); ++part)
      runs.push_back({rank, part});
  return runs;
}

/// One step.
class StepReference {
 public:
  StepReference(const Reference& reference, const GroupCuts& cuts, const Mesh& mesh,
                ReferenceState& state)
      : reference_(reference),
        graph_(*reference.graph),
        cuts_(cuts),
        mesh_(mesh),
        state_(state),
        gradients_(cuts.size()),
        scalars_(graph_.scalars.size()),
        ranks_of_batch_(ranks_of_batch(graph_)),
        value_pieces_(pieces_of_values(graph_)) {
    cast_parameters();
    for (std::size_t g = 0; g < state.groups.size(); ++g)
      parameters_.push_back(joined(in_blocks_[g]));
    if (reference.update_in_backward) find_last_uses();
  }

  std::string run(int ranks) {
    if (std::string problem = cast_weights(); !problem.empty()) return problem;
    for (int rank = 0; rank < ranks; ++rank)
      for (int micro = 0; micro < reference_.micro_steps; ++micro) {
        const bool last = rank + 1 == ranks && micro + 1 == reference_.micro_steps;
        if (std::string problem = micro_step(micro, rank, last); !problem.empty()) return problem;
      }
    finish();
    return "";
  }

 private:
  using Place = std::pair<Op, int>;  // operation and block

  /// What blocks read: of some groups what a step casts to fp8 at its beginning.
  void cast_parameters() {
    Symbol scales = 0, ranges = 0;
    for (std::size_t k = 0; k < graph_.scalars.size(); ++k)
      if (graph_.scalars[k].role == Role::fp8_ranges) ranges = state_.kept_scalars[k];
    const auto each_cell = [&](std::size_t g, const auto& visit) {
      auto element = cuts_[g].begin();
      for (const Symbol cell : state_.groups[g].parameter) visit(cell, *element++);
    };
    for (std::size_t g = 0; g < cuts_.size(); ++g)
      if (graph_.groups[g].fp8)
        each_cell(g, [&](Symbol cell, std::int64_t element) {
          scales += fp8_scale_symbol(cell, ranges, static_cast<int>(g), element);
        });
    for (std::size_t g = 0; g < cuts_.size(); ++g) {
      in_blocks_.push_back(state_.groups[g].parameter);
      if (!graph_.groups[g].fp8) continue;
      for (Symbol& cell : in_blocks_.back()) cell = fp8_symbol(cell, scales, ranges);
    }
    fp8_scales_ = scales;
  }

  /// From the parameters as they are, in each step: a copy that a program makes once must be equal.
  std::string cast_weights() {
    saved_.resize(graph_.blocks.size());
    for (int b = 0; b < static_cast<int>(graph_.blocks.size()); ++b) {
      const BlockSpec& block = graph_.blocks[b];
      const auto phase = block.phases.find(Op::cast_weights);
      if (phase == block.phases.end()) continue;
      if (std::string problem = run_block(b, Op::cast_weights, phase->second); !problem.empty())
        return problem;
      for (const SlotUse& u : phase->second.uses) {
        if (!writes(u.how)) continue;
        const std::ptrdiff_t runs = std::ssize(runs_of(block.parts, ranks_of_batch_));
        const auto first = saved_[b].begin() + u.slot * runs;
        state_.cast_weights[{b, u.slot}] = {first, first + runs};
      }
    }
    return "";
  }

  /// Of each group, the last operation of a micro-step that has to do with it.
  void find_last_uses() {
    last_use_.resize(cuts_.size());
    const int blocks = static_cast<int>(graph_.blocks.size());
    for (const Op op : {Op::forward, Op::loss, Op::backward})
      for (int k = 0; k < blocks; ++k) {
        const int block = op == Op::backward ? blocks - 1 - k : k;
        const BlockSpec& spec = graph_.blocks[block];
        if (const auto phase = spec.phases.find(op); phase != spec.phases.end())
          for (const SlotUse& u : phase->second.uses)
            if (const SlotSpec& s = spec.slots[u.slot];
                s.role == Role::parameter || s.role == Role::gradient)
              last_use_[static_cast<std::size_t>(s.index)] = {op, block};
      }
  }

  std::string micro_step(int micro, int rank, bool last) {
    batch_.clear();
    for (std::size_t k = 0; k < graph_.batch.size(); ++k)
      batch_.push_back(batch_symbol(static_cast<int>(k), state_.step, micro, rank));
    values_.clear();
    value_gradients_.clear();
    for (const Pieces& pieces : value_pieces_) {
      values_.emplace_back(pieces.count());
      value_gradients_.emplace_back(pieces.count());
    }
    saved_.resize(graph_.blocks.size());
    const int blocks = static_cast<int>(graph_.blocks.size());
    for (const Op op : {Op::forward, Op::loss, Op::backward})
      for (int k = 0; k < blocks; ++k) {
        const int block = op == Op::backward ? blocks - 1 - k : k;
        const auto& phases = graph_.blocks[block].phases;
        const auto phase = phases.find(op);
        if (phase == phases.end()) continue;
        if (std::string problem = run_block(block, op, phase->second); !problem.empty())
          return problem;
        if (last && reference_.update_in_backward) update_finished({op, block});
      }
    return "";
  }

  /// Computes each part of the block with its own pieces of values. A block that is not cut reads
  /// and writes all pieces.
  std::string run_block(int block, Op op, const Phase& phase) {
    const BlockSpec& spec = graph_.blocks[block];
    if (spec.exchange != ExchangeKind::nothing) return exchange(spec, op, phase);
    const std::vector<BlockRun> runs = runs_of(spec.parts, ranks_of_batch_);
    auto& saved = saved_[block];
    saved.resize(spec.slots.size() * runs.size());
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const BlockRun& run = runs[k];
      std::vector<Symbol> slots(spec.slots.size());
      for (const SlotUse& u : phase.uses) {
        const SlotSpec& s = spec.slots[u.slot];
        const auto index = static_cast<std::size_t>(s.index);
        if (u.how != How::read && u.how != How::modify) continue;
        Symbol& to = slots[u.slot];
        switch (s.role) {
          case Role::value: to = read(values_[index], pieces_of(spec, s, run)); break;
          case Role::value_gradient:
            to = read(value_gradients_[index], pieces_of(spec, s, run));
            break;
          case Role::parameter: to = parameters_of(index, part_of_group(index, spec, run)); break;
          case Role::batch:
            if (spec.parts.are_all_here())
              return spec.name + " reads the batch, and computes rows of other ranks";
            to = s.own_rows ? piece_symbol(batch_[index], place(spec.parts.rows(), run.rank))
                            : batch_[index];
            break;
          case Role::fp8_scales: to = fp8_scales_; break;
          default:
            to = is_scalar(s.role) ? state_.kept_scalars[index] : saved[u.slot * runs.size() + k];
        }
      }
      if (std::string problem = block_symbols(graph_, block, op, phase.uses, slots);
          !problem.empty())
        return problem;
      for (const SlotUse& u : phase.uses) {
        if (!writes(u.how)) continue;
        const SlotSpec& s = spec.slots[u.slot];
        const auto index = static_cast<std::size_t>(s.index);
        const Symbol made = slots[u.slot];
        switch (s.role) {
          case Role::value: write(values_[index], pieces_of(spec, s, run), made, false); break;
          case Role::value_gradient:
            write(value_gradients_[index], pieces_of(spec, s, run), made, u.how != How::modify);
            break;
          case Role::gradient: contribute(index, made, part_of_group(index, spec, run)); break;
          default:
            if (is_scalar(s.role) && adds_numbers(spec, run, index))
              scalars_[index] += made;
            else if (!is_scalar(s.role))
              saved[u.slot * runs.size() + k] = made;
        }
      }
    }
    return "";
  }

  /// What each of the ranks that share the parts of a layer has afterwards.
  std::string exchange(const BlockSpec& spec, Op op, const Phase& phase) {
    const std::vector<Symbol>* from = nullptr;
    std::vector<Symbol>* to = nullptr;
    bool adds = false;
    for (const SlotUse& u : phase.uses) {
      const SlotSpec& s = spec.slots[u.slot];
      if (s.role != Role::value && s.role != Role::value_gradient)
        return spec.name + " exchanges what is no value";
      auto& pieces = (s.role == Role::value ? values_ : value_gradients_)[s.index];
      if (u.how == How::read)
        from = &pieces;
      else
        to = &pieces, adds = s.role == Role::value_gradient;
    }
    if (!from || !to || from->size() != to->size()) return spec.name + " exchanges nothing";
    for (std::size_t k = 0; k < to->size(); ++k) {
      std::vector<Symbol> of_peers;
      for (const int peer : mesh_.peers(spec.parts.exchange, static_cast<int>(k)))
        of_peers.push_back(from->at(static_cast<std::size_t>(peer)));
      (*to)[k] = (adds ? (*to)[k] : 0) +
                 moved(spec.exchange, op, of_peers, place(spec.parts.exchange, k));
    }
    return "";
  }
  static Symbol moved(ExchangeKind kind, Op op, const std::vector<Symbol>& from, int place) {
    if (kind == ExchangeKind::parts_to_ranks) return joined_parts(from, place);
    return sums_rows(kind, op) ? sum_of_rows(from, place) : joined_pieces(from);
  }

  /// The ranks that share a batch have the numbers of the first ranks of all.
  int place(AxisSet along, std::size_t rank) const {
    return mesh_.place(along, static_cast<int>(rank));
  }
  /// Ranks of the same rows have the same numbers, but of what each casts of its own.
  bool adds_numbers(const BlockSpec& spec, const BlockRun& run, std::size_t scalar) const {
    return !spec.parts.own_alone || graph_.scalars[scalar].name == fp8_counts ||
           place(spec.parts.same_rows, run.rank) == 0;
  }

  struct PieceRange {
    std::size_t first = 0, count = 1;
  };
  /// What a computation of a block reads or writes of a value.
  PieceRange pieces_of(const BlockSpec& spec, const SlotSpec& s, const BlockRun& run) const {
    const Pieces& all = value_pieces_[static_cast<std::size_t>(s.index)];
    if (!spec.parts.are_several()) return {0, all.count()};
    const std::size_t first = run.rank * all.slots;
    return s.state == ValueState::of_part ? PieceRange{first + run.part, 1}
                                          : PieceRange{first, all.slots};
  }
  static Symbol read(const std::vector<Symbol>& pieces, const PieceRange& range) {
    const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(range.first);
    return joined_pieces({first, first + static_cast<std::ptrdiff_t>(range.count)});
  }
  static void write(std::vector<Symbol>& pieces, const PieceRange& range, Symbol made, bool adds) {
    for (std::size_t k = 0; k < range.count; ++k) {
      Symbol& to = pieces.at(range.first + k);
      to = (adds ? to : 0) + (range.count == 1 ? made : piece_symbol(made, static_cast<int>(k)));
    }
  }

  /// Every part of a block reads a group that is not cut, and its own part of one that is.
  int part_of_group(std::size_t group, const BlockSpec& spec, const BlockRun& run) const {
    return spec.parts.own_alone ? place(graph_.groups[group].parts.along, run.rank)
                                : static_cast<int>(run.part);
  }
  bool has(std::size_t group, int part, std::int64_t element) const {
    const GroupSpec& g = graph_.groups[group];
    return !g.parts.are_several() || element / g.part_elements() == part;
  }
  Symbol parameters_of(std::size_t group, int part) const {
    if (!graph_.groups[group].parts.are_several()) return parameters_[group];
    std::vector<Symbol> own;
    std::size_t cell = 0;
    for (const std::int64_t e : cuts_[group]) {
      if (has(group, part, e)) own.push_back(in_blocks_[group][cell]);
      ++cell;
    }
    return joined(own);
  }
  void contribute(std::size_t group, Symbol made, int part) {
    std::size_t cell = 0;
    gradients_[group].resize(cuts_[group].size());
    for (const std::int64_t e : cuts_[group]) {
      if (has(group, part, e)) gradients_[group][cell] += contribution_symbol(made, e);
      ++cell;
    }
  }

  void update_finished(const Place& place) {
    std::vector<std::size_t> finished;
    for (std::size_t g = 0; g < cuts_.size(); ++g)
      if (last_use_[g] == place) finished.push_back(g);
    for (const std::size_t g : finished) norm2_ += norm_of(g);
    for (const std::size_t g : finished) update(g);
  }

  void finish() {
    if (!reference_.update_in_backward) {
      for (std::size_t g = 0; g < cuts_.size(); ++g) norm2_ += norm_of(g);
      for (std::size_t g = 0; g < cuts_.size(); ++g) update(g);
    }
    const Symbol* const guard = reference_.update_reads_norm2 ? &norm2_ : nullptr;
    const Symbol *const loss_sum = scalar(Role::loss_sum),
                        *const target_count = scalar(Role::target_count),
                        *const loss_scale = scalar(Role::loss_scale);
    for (std::size_t g = 0; g < cuts_.size() && graph_.balance_rate > 0; ++g)
      if (is_balanced(graph_.groups[g])) balance(g, guard);
    state_.step = advanced_symbol(state_.step, nullptr);
    state_.applied = advanced_symbol(state_.applied, guard);
    if (loss_sum) state_.reports = mix(state_.reports, ReportSlot::loss_sum, *loss_sum);
    if (target_count) state_.reports = mix(state_.reports, ReportSlot::target_count, *target_count);
    if (guard) state_.reports = mix(state_.reports, ReportSlot::norm2, norm2_);
    state_.reports = mix(state_.reports, ReportSlot::applied, state_.applied);
    state_.reports = mix(state_.reports, ReportSlot::lr_table, state_.lr_table);
    if (loss_scale) state_.reports = mix(state_.reports, ReportSlot::loss_scale, *loss_scale);
    for (std::size_t k = 0; k < scalars_.size(); ++k)
      if (graph_.scalars[k].role == Role::metric && scalars_[k])
        state_.reports =
            mix(state_.reports, ReportSlot::first_metric + static_cast<Slot>(k), scalars_[k]);
    for (std::size_t k = 0; k < scalars_.size(); ++k) {
      Symbol& kept = state_.kept_scalars[k];
      if (!kept) continue;
      if (graph_.scalars[k].role == Role::fp8_ranges)
        for (std::size_t c = 0; c < scalars_.size(); ++c)
          if (graph_.scalars[c].name == fp8_counts) kept = mix(kept, scalars_[c]);
      kept = advanced_symbol(kept, guard);
    }
  }

  void balance(std::size_t g, const Symbol* norm2) {
    for (Symbol& cell : state_.groups[g].parameter) {
      UpdateOperands o;
      for (std::size_t k = 0; k < scalars_.size(); ++k)
        if (graph_.scalars[k].name == expert_loads)
          o.present.emplace_back(UpdateSlot::gradient, scalars_[k]);
      if (norm2) o.present.emplace_back(UpdateSlot::norm2, *norm2);
      o.present.emplace_back(UpdateSlot::parameter, cell);
      std::sort(o.present.begin(), o.present.end());
      cell = o.result(UpdateSlot::parameter);
    }
  }

  /// Null where the model has none.
  const Symbol* scalar(Role role) const {
    for (std::size_t k = 0; k < scalars_.size(); ++k)
      if (graph_.scalars[k].role == role)
        return state_.kept_scalars[k] ? &state_.kept_scalars[k] : &scalars_[k];
    return nullptr;
  }

  Symbol norm_of(std::size_t g) const {
    Symbol norm = 0;
    auto e = cuts_[g].begin();
    for (const Symbol cell : gradients_[g]) norm += norm_symbol(cell, static_cast<int>(g), *e++);
    return norm;
  }

  void update(std::size_t g) {
    const Symbol* const guard = reference_.update_reads_norm2 ? &norm2_ : nullptr;
    const UpdateOperands scalars = scalars_of_update(guard);
    if (reference_.update.unit == Unit::tensor) {
      if (!gradients_[g].empty()) update_tensors(g, scalars);
      return;
    }
    for (std::size_t cell = 0; cell < gradients_[g].size(); ++cell)
      update_cell(g, cell, operands_of(g, cell, scalars));
  }

  UpdateOperands scalars_of_update(const Symbol* guard) const {
    const Symbol *const target_count = scalar(Role::target_count), *const loss_scale =
                                                                       scalar(Role::loss_scale);
    UpdateOperands o;
    if (guard) o.present.emplace_back(UpdateSlot::norm2, *guard);
    if (target_count) o.present.emplace_back(UpdateSlot::target_count, *target_count);
    o.present.emplace_back(UpdateSlot::applied, state_.applied);
    o.present.emplace_back(UpdateSlot::lr_table, state_.lr_table);
    if (loss_scale) o.present.emplace_back(UpdateSlot::loss_scale, *loss_scale);
    return o;
  }

  bool is_of_tensors(std::size_t state) const {
    return reference_.update.unit == Unit::tensor && reference_.update.states[state].dims;
  }

  /// What an update of the cell reads, `shared` beside what is the cell's own.
  UpdateOperands operands_of(std::size_t g, std::size_t cell, const UpdateOperands& shared) const {
    const auto& group = state_.groups[g];
    UpdateOperands o = shared;
    const bool rounded = !reference_.rounded_gradients.empty() &&
                         reference_.rounded_gradients.at(g);
    o.present.emplace_back(
        UpdateSlot::gradient,
        rounded ? rounded_symbol(gradients_[g][cell], DType::bf16) : gradients_[g][cell]);
    o.present.emplace_back(UpdateSlot::parameter, group.parameter[cell]);
    if (!group.master.empty()) o.present.emplace_back(UpdateSlot::master, group.master[cell]);
    for (std::size_t s = 0; s < group.states.size(); ++s)
      // nothing may be kept of a group's tensors
      if (!group.states[s].empty() && !is_of_tensors(s))
        o.present.emplace_back(UpdateSlot::first_state + static_cast<Slot>(s),
                               group.states[s][cell]);
    std::sort(o.present.begin(), o.present.end());
    return o;
  }

  void update_cell(std::size_t g, std::size_t cell, const UpdateOperands& o) {
    auto& group = state_.groups[g];
    group.parameter[cell] = o.result(UpdateSlot::parameter);
    if (!group.master.empty()) group.master[cell] = o.result(UpdateSlot::master);
    for (std::size_t s = 0; s < group.states.size(); ++s)
      if (!group.states[s].empty() && !is_of_tensors(s))
        group.states[s][cell] = o.result(UpdateSlot::first_state + static_cast<Slot>(s));
  }

  /// Sums over the whole group, each from those before; then every cell from all sums. States of
  /// tensors move on before the last sum.
  void update_tensors(std::size_t g, const UpdateOperands& scalars) {
    auto& group = state_.groups[g];
    UpdateOperands sums = scalars;
    const auto with_states = [&] {
      UpdateOperands o = sums;
      for (std::size_t s = 0; s < group.states.size(); ++s)
        if (!group.states[s].empty() && is_of_tensors(s))
          o.present.emplace_back(UpdateSlot::first_state + static_cast<Slot>(s),
                                 group.states[s].front());
      return o;
    };
    const int rounds = reference_.update.rounds();
    for (int round = 0; round < rounds; ++round) {
      if (round + 1 == rounds) {
        UpdateOperands before = with_states();
        std::sort(before.present.begin(), before.present.end());
        for (std::size_t s = 0; s < group.states.size(); ++s)
          if (!group.states[s].empty() && is_of_tensors(s))
            group.states[s].front() = before.result(UpdateSlot::first_state + static_cast<Slot>(s));
      }
      Symbol sum = 0;
      auto element = cuts_[g].begin();
      for (std::size_t cell = 0; cell < gradients_[g].size(); ++cell)
        sum += operands_of(g, cell, with_states()).share_of_sum(round, *element++);
      sums.present.emplace_back(UpdateSlot::first_sums + round, sum);
    }
    for (std::size_t cell = 0; cell < gradients_[g].size(); ++cell)
      update_cell(g, cell, operands_of(g, cell, with_states()));
  }

  const Reference& reference_;
  const ModelGraph& graph_;
  const GroupCuts& cuts_;
  const Mesh& mesh_;
  ReferenceState& state_;
  std::vector<std::vector<Symbol>> in_blocks_;  // by group, by cell: parameters
  Symbol fp8_scales_ = 0;
  std::vector<Symbol> parameters_, batch_;
  std::vector<std::vector<Symbol>> values_, value_gradients_;  // by value and piece
  std::vector<std::vector<Symbol>> saved_, gradients_;
  std::vector<Symbol> scalars_;
  std::size_t ranks_of_batch_;
  std::vector<Pieces> value_pieces_;
  std::vector<Place> last_use_;  // by group
  Symbol norm2_ = 0;             // of the gradients that are complete
};

}  // namespace

std::string run_reference(const Reference& reference, const GroupCuts& cuts, const Mesh& mesh,
                          int batches, int steps, ReferenceState& state) {
  for (int s = 0; s < steps; ++s)
    if (std::string problem = StepReference(reference, cuts, mesh, state).run(batches);
        !problem.empty())
      return problem;
  return "";
}

}  // namespace trainx::program
