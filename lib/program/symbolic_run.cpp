#include "program/symbolic_run.hpp"
#include "program/operations.hpp"
#include "program/reference.hpp"
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

namespace trainx::program {
namespace {

std::string text_of(const Instruction& i, const StepProgram& p) {
  std::string s(name_of(i.op));
  if (!i.uses.empty()) s += " of " + p.buffers[i.uses.back().buffer].name;
  return s;
}

}  // namespace

SymbolicRun::SymbolicRun(const std::vector<const StepProgram*>& ranks, const ModelGraph& graph,
                         const GroupCuts& cuts, int rounds)
    : programs_(ranks),
      graph_(graph),
      value_parts_(parts_of_values(graph)),
      rounds_(rounds),
      reports_(ranks.size()) {
  std::map<const StepProgram*, std::shared_ptr<const CellMap>> made;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    auto& map = made[ranks[r]];
    if (!map) map = std::make_shared<CellMap>(*ranks[r], graph, cuts);
    maps_.push_back(map);
    auto& symbols = symbols_.emplace_back(static_cast<std::size_t>(map->count()));
    for (std::size_t b = 0; b < ranks[r]->buffers.size(); ++b) {
      const Buffer& buffer = ranks[r]->buffers[b];
      if (!buffer.resident) continue;
      const auto run = map->of_buffer(static_cast<BufferId>(b));
      for (int c = run.begin; c < run.end; ++c)
        symbols[c] = initial_symbol(buffer.role, buffer.index, buffer.item,
                                    map->element(c, static_cast<int>(r)));
    }
  }
}

std::string SymbolicRun::run(int steps) {
  const auto n = programs_.size();
  struct Cursor {
    int round = -1;  // -1: `once`
    std::size_t position = 0;
  };
  std::vector<Cursor> cursors(n);
  auto current = [&](std::size_t r) -> const Instruction* {  // nullptr at the end
    const StepProgram& p = *programs_[r];
    for (Cursor& c = cursors[r]; c.round < steps; ++c.round, c.position = 0)
      if (const auto& list = c.round < 0 ? p.once : p.steady; c.position < list.size())
        return &list[c.position];
    return nullptr;
  };
  if (std::ranges::any_of(programs_,
                          [&](const StepProgram* p) { return p->mesh != programs_.front()->mesh; }))
    return "programs for other meshes of ranks";
  for (;;) {
    std::vector<const Instruction*> waiting(n);
    bool done = true;
    for (std::size_t r = 0; r < n; ++r) {
      while ((waiting[r] = current(r)) && !is_collective(waiting[r]->op)) {
        if (std::string problem = execute(*waiting[r], static_cast<int>(r)); !problem.empty())
          return problem;
        ++cursors[r].position;
      }
      done &= waiting[r] == nullptr;
    }
    if (done) return "";
    bool moved = false;
    for (int r = 0; r < static_cast<int>(n); ++r) {
      if (!waiting[r]) continue;
      std::vector<int> met;
      if (std::string problem = meet_at(*waiting[r], r, waiting, met); !problem.empty())
        return problem;
      if (met.empty()) continue;
      const Instruction& i = *waiting[r];
      std::string problem = i.op == Op::send ? transfer(i, r, *waiting[met.back()], met.back())
                                             : collective_among(met, waiting);
      if (!problem.empty()) return problem;
      for (const int rank : met) {
        ++cursors[rank].position;
        waiting[rank] = nullptr;
      }
      moved = true;
    }
    if (!moved) return where_ranks_stand(waiting);
  }
}

/// The ranks that make the instruction together, as soon as all of them have arrived: those that
/// `rank` is the first of; of a message its sender and its receiver.
std::string SymbolicRun::meet_at(const Instruction& i, int rank,
                                 const std::vector<const Instruction*>& waiting,
                                 std::vector<int>& met) const {
  if (i.op == Op::recv) return "";
  const int n = static_cast<int>(programs_.size());
  std::vector<int> ranks;
  if (i.along == axes::all) {  // fewer than the program is for may be checked
    ranks.resize(programs_.size());
    std::iota(ranks.begin(), ranks.end(), 0);
  } else if (program(rank).mesh.world != n) {
    return "groups of ranks, of which some are not here";
  } else {
    ranks = program(rank).mesh.peers(i.along, rank);
  }
  if (i.op == Op::send) {
    if (i.peer < 0 || static_cast<std::size_t>(i.peer) >= ranks.size())
      return "send to rank " + std::to_string(i.peer) + ", which does not exist";
    const int to = ranks[static_cast<std::size_t>(i.peer)];
    const Instruction* other = waiting[to];
    if (other && other->op == Op::recv && other->along == i.along && to != rank &&
        other->peer >= 0 && static_cast<std::size_t>(other->peer) < ranks.size() &&
        ranks[static_cast<std::size_t>(other->peer)] == rank)
      met = {rank, to};
    return "";
  }
  const bool all_here = ranks.front() == rank && std::ranges::all_of(ranks, [&](int other) {
                          return waiting[other] && waiting[other]->op == i.op &&
                                 waiting[other]->along == i.along;
                        });
  if (all_here) met = std::move(ranks);
  return "";
}

std::string SymbolicRun::where_ranks_stand(const std::vector<const Instruction*>& waiting) const {
  const auto where = [&](std::size_t rank) {
    return "rank " + std::to_string(rank) +
           (waiting[rank] ? " is at " + text_of(*waiting[rank], *programs_[rank]) : " has ended");
  };
  const auto differs = [&](const Instruction* i) {
    return !i || !waiting[0] || i->op != waiting[0]->op || i->op == Op::send || i->op == Op::recv;
  };
  const auto other = std::ranges::find_if(waiting, differs) - waiting.begin();
  if (other < std::ssize(waiting))
    return "the ranks do not meet: " + where(0) +
           (other > 0 ? ", " + where(static_cast<std::size_t>(other)) : "");
  const auto elsewhere = std::ranges::find_if(
      waiting, [&](const Instruction* i) { return i->along != waiting[0]->along; });
  return std::string(name_of(waiting[0]->op)) + " among other ranks on rank " +
         std::to_string(elsewhere - waiting.begin()) + " than on rank 0";
}

Symbol SymbolicRun::operand(const Use& u, int rank) {
  const auto run = cells(rank).of(u);
  if (is_of_group(buffer(u, rank))) {
    if (run.end - run.begin == 1) return at(rank, run.begin);
    Symbol h = static_cast<Symbol>(run.end - run.begin);
    for (int c = run.begin; c < run.end; ++c) h = mix(h, at(rank, c));
    return h;
  }
  return operand_of_piece(u, rank, 0, 1);
}

void SymbolicRun::store(const Use& u, int rank, Symbol made) {
  const auto run = cells(rank).of(u);
  const bool of_group = is_of_group(buffer(u, rank));
  for (int c = run.begin; c < run.end; ++c) {
    const std::int64_t element = cells(rank).element(c, rank);
    Symbol& to = at(rank, c);
    if (of_group)
      to = (u.how == How::accumulate ? to : 0) + contribution_symbol(made, element);
    else
      to = u.how == How::accumulate ? to + made : made + offset_symbol(element);
  }
}

CellMap::Run SymbolicRun::of_part(const Use& u, int rank, const BlockSpec& spec, int part) const {
  const CellMap::Run all = cells(rank).of(u);
  const Buffer& b = buffer(u, rank);
  const GroupSpec& group = graph_.groups[b.index];
  if (b.layout.is_cut_along(group.parts.along)) return all;
  if (spec.parts.own_alone) part = program(rank).mesh.place(group.parts.along, rank);
  const std::int64_t each = group.part_elements();
  CellMap::Run run{all.end, all.end};
  for (int c = all.begin; c < all.end; ++c)
    if (cells(rank).element(c, rank) / each == part) {
      run.begin = std::min(run.begin, c);
      run.end = c + 1;
    }
  return run;
}

Symbol SymbolicRun::operand_of_piece(const Use& u, int rank, int part, int parts) {
  const auto run = cells(rank).of_piece(u.buffer, part, parts);
  const auto without_place = [&](int c) {
    return at(rank, c) - offset_symbol(cells(rank).element(c, rank));
  };
  // Intact cells of one thing are that thing.
  const Symbol first = without_place(run.begin);
  bool intact = true;
  Symbol h = static_cast<Symbol>(run.end - run.begin);
  for (int c = run.begin; c < run.end; ++c) {
    intact &= without_place(c) == first;
    h = mix(h, at(rank, c));
  }
  return intact ? first : h;
}

void SymbolicRun::store_piece(const Use& u, int rank, int part, int parts, Symbol made) {
  const auto run = cells(rank).of_piece(u.buffer, part, parts);
  for (int c = run.begin; c < run.end; ++c) {
    Symbol& to = at(rank, c);
    to = u.how == How::accumulate ? to + made : made + offset_symbol(cells(rank).element(c, rank));
  }
}

SymbolicRun::PieceOf SymbolicRun::piece_of(const Use& u, int rank, const BlockSpec& spec,
                                           int part) const {
  const Buffer& b = buffer(u, rank);
  const int parts = spec.parts.own_alone ? 1 : spec.parts.count;
  switch (b.role) {
    case Role::value:
    case Role::value_gradient: {
      const int pieces = value_parts_[static_cast<std::size_t>(b.index)];
      if (spec.slots[u.slot].state == ValueState::of_part) return {part, 1, pieces};
      return {0, pieces, pieces};
    }
    case Role::saved:
    case Role::scratch: return {part, 1, parts};
    default: return {0, 1, 1};
  }
}

Symbol SymbolicRun::operand_of_part(const Use& u, int rank, const BlockSpec& spec, int part) {
  const Buffer& b = buffer(u, rank);
  if (is_of_group(b) && graph_.groups[b.index].parts.are_several()) {
    const auto run = of_part(u, rank, spec, part);
    std::vector<Symbol> own;
    for (int c = run.begin; c < run.end; ++c) own.push_back(at(rank, c));
    return joined(own);
  }
  if (spec.slots[u.slot].own_rows)
    return piece_symbol(operand(u, rank), program(rank).mesh.place(spec.parts.rows(), rank));
  const PieceOf of = piece_of(u, rank, spec, part);
  if (of.all == 1) return operand(u, rank);
  std::vector<Symbol> pieces;
  for (int k = of.first; k < of.first + of.count; ++k)
    pieces.push_back(operand_of_piece(u, rank, k, of.all));
  return joined_pieces(pieces);
}

void SymbolicRun::store_of_part(const Use& u, int rank, const BlockSpec& spec, int part,
                                Symbol made) {
  const Buffer& b = buffer(u, rank);
  if (is_of_group(b)) {
    const bool in_parts = graph_.groups[b.index].parts.are_several();
    const auto run = in_parts ? of_part(u, rank, spec, part) : cells(rank).of(u);
    // each part adds to a gradient that all parts share, unless a rank computes its own alone
    const bool adds = u.how == How::accumulate ||
                      (part > 0 && !spec.parts.own_alone && (!in_parts || b.is_cut()));
    for (int c = run.begin; c < run.end; ++c)
      at(rank, c) = (adds ? at(rank, c) : 0) +
                    contribution_symbol(made, cells(rank).element(c, rank));
    return;
  }
  const PieceOf of = piece_of(u, rank, spec, part);
  if (of.all == 1) {
    Use all = u;
    if (part > 0 && !spec.parts.own_alone) all.how = How::accumulate;
    return store(all, rank, made);
  }
  for (int k = of.first; k < of.first + of.count; ++k)
    store_piece(u, rank, k, of.all, of.count == 1 ? made : piece_symbol(made, k));
}

std::string SymbolicRun::execute(const Instruction& i, int rank) {
  switch (i.op) {
    case Op::fetch_batch: {
      const Use* step = find_use(i, FetchSlot::step);
      const Mesh& mesh = program(rank).mesh;
      // ranks that share a batch have that of their place
      const int own = mesh.batches() < mesh.world ? mesh.batch_of(rank) : rank;
      for (const Use& u : i.uses)
        if (writes(u.how))
          store(u, rank,
                batch_symbol(u.slot - FetchSlot::first_batch, step ? operand(*step, rank) : 0,
                             i.micro, i.peer == none ? own : i.peer));
      return "";
    }
    case Op::forward:
    case Op::loss:
    case Op::recompute:
    case Op::backward:
    case Op::evaluate:
    case Op::predict:
    case Op::cast_weights: return run_block(i, rank);
    case Op::copy: return copy(i, rank);
    case Op::cast: return cast(i, rank);
    case Op::add: return add(i, rank);
    case Op::fp8_scale: fp8_scale(i, rank); return "";
    case Op::quantize: return quantize(i, rank);
    case Op::grad_norm: grad_norm(i, rank); return "";
    case Op::update: return rounds_ > 0 ? update_tensors(i, rank) : update(i, rank);
    case Op::balance: return update(i, rank);
    case Op::measure:
      return rounds_ > 0 ? update_tensors(i, rank)
                         : "sums over tensors, of which no update needs any";
    case Op::advance_step:
    case Op::advance_applied: {
      const Use* counter = find_use(i, AdvanceSlot::counter);
      if (!counter) counter = find_use(i, AdvanceSlot::loss_scale);
      if (!counter) counter = find_use(i, AdvanceSlot::fp8_ranges);
      if (!counter) return std::string(name_of(i.op)) + " has no counter";
      const Use* norm = find_use(i, AdvanceSlot::norm2);
      const Symbol norm2 = norm ? operand(*norm, rank) : 0;
      Symbol before = operand(*counter, rank);
      if (const Use* counts = find_use(i, AdvanceSlot::fp8_counts))
        before = mix(before, operand(*counts, rank));
      store(*counter, rank, advanced_symbol(before, norm ? &norm2 : nullptr));
      return "";
    }
    case Op::report: {
      Symbol& all = reports_[rank];
      for (const Slot s : {ReportSlot::loss_sum, ReportSlot::target_count, ReportSlot::norm2,
                           ReportSlot::applied, ReportSlot::lr_table, ReportSlot::loss_scale})
        if (const Use* u = find_use(i, s))
          all = mix(all, static_cast<Symbol>(s), operand(*u, rank));
      for (Slot k = 0; k < static_cast<Slot>(graph_.scalars.size()); ++k)
        if (const Use* u = find_use(i, ReportSlot::first_metric + k))
          all = mix(all, static_cast<Symbol>(ReportSlot::first_metric + k), operand(*u, rank));
      return "";
    }
    default: return std::string(name_of(i.op)) + " is not known to the check";
  }
}

/// Computes each part of the block with its own pieces of values and its own part of groups.
std::string SymbolicRun::run_block(const Instruction& i, int rank) {
  if (i.block < 0 || static_cast<std::size_t>(i.block) >= graph_.blocks.size())
    return std::string(name_of(i.op)) + " names no block of the model";
  const BlockSpec& spec = graph_.blocks[i.block];
  std::vector<SlotUse> uses;
  for (const Use& u : i.uses) {
    if (u.slot < 0 || static_cast<std::size_t>(u.slot) >= spec.slots.size())
      return std::string(name_of(i.op)) + " of " + spec.name + " uses " + buffer(u, rank).name +
             " as no slot of the block";
    uses.push_back({u.slot, u.how});
  }
  if (spec.exchange != ExchangeKind::nothing) return spec.name + " is no collective";
  const int first = spec.parts.own_alone ? program(rank).mesh.place(spec.parts.along, rank) : 0,
            end = spec.parts.own_alone ? first + 1 : spec.parts.count;
  for (int part = first; part < end; ++part) {
    std::vector<Symbol> slots(spec.slots.size());
    for (const Use& u : i.uses)
      if (u.how == How::read || u.how == How::modify)
        slots[u.slot] = operand_of_part(u, rank, spec, part);
    if (std::string problem = block_symbols(graph_, i.block, i.op, uses, slots); !problem.empty())
      return problem;
    for (const Use& u : i.uses)
      if (writes(u.how)) store_of_part(u, rank, spec, part, slots[u.slot]);
  }
  return "";
}

/// Cell by cell from one buffer to another of as many cells; of a group the elements must
/// be the same.
std::string SymbolicRun::move(const Instruction& i, const Use& from, int from_rank, const Use& to,
                              int to_rank) {
  const auto a = cells(from_rank).of(from), b = cells(to_rank).of(to);
  const auto mismatch = [&] {
    return std::string(name_of(i.op)) + " from " + buffer(from, from_rank).name + " to " +
           buffer(to, to_rank).name + ", whose pieces differ";
  };
  if (a.end - a.begin != b.end - b.begin ||
      is_of_group(buffer(from, from_rank)) != is_of_group(buffer(to, to_rank)))
    return mismatch();
  for (int k = 0; k < a.end - a.begin; ++k) {
    const std::int64_t source = cells(from_rank).element(a.begin + k, from_rank),
                       target = cells(to_rank).element(b.begin + k, to_rank);
    Symbol moved = at(from_rank, a.begin + k);
    if (is_of_group(buffer(from, from_rank))) {
      if (source != target) return mismatch();
    } else {
      moved = moved - offset_symbol(source) +
              (to.how == How::accumulate ? 0 : offset_symbol(target));
    }
    Symbol& out = at(to_rank, b.begin + k);
    out = (to.how == How::accumulate ? out : 0) + moved;
  }
  return "";
}

std::string SymbolicRun::copy(const Instruction& i, int rank) {
  const Use *from = find_use(i, CopySlot::from), *to = find_use(i, CopySlot::to);
  if (!from || !to) return "copy without an operand";
  if (buffer(*from, rank).dtype != buffer(*to, rank).dtype)
    return "copy from " + buffer(*from, rank).name + " to " + buffer(*to, rank).name +
           ", which has another type";
  return move(i, *from, rank, *to, rank);
}

/// Rounded elements are others than those that they were, wider ones the same. What ranks exchange
/// counts as exact: how often it is rounded follows from how the work is cut.
std::string SymbolicRun::cast(const Instruction& i, int rank) {
  const Use *from = find_use(i, CopySlot::from), *result = find_use(i, CopySlot::to);
  if (!from || !result) return "cast without an operand";
  const DType made = buffer(*result, rank).dtype;
  if (buffer(*from, rank).dtype == made)
    return "cast from " + buffer(*from, rank).name + " to " + buffer(*result, rank).name +
           ", which is of the same type";
  if (std::string problem = move(i, *from, rank, *result, rank); !problem.empty()) return problem;
  if (size_of(made) > size_of(buffer(*from, rank).dtype) ||
      buffer(*result, rank).role == Role::transit)
    return "";
  const auto to = cells(rank).of(*result);
  for (int c = to.begin; c < to.end; ++c) at(rank, c) = rounded_symbol(at(rank, c), made);
  return "";
}

std::string SymbolicRun::add(const Instruction& i, int rank) {
  const Use *from = find_use(i, CopySlot::from), *to = find_use(i, CopySlot::to);
  if (!from || !to || to->how != How::accumulate) return "add without an operand";
  return move(i, *from, rank, *to, rank);
}

std::string SymbolicRun::transfer(const Instruction& send, int from_rank, const Instruction& recv,
                                  int to_rank) {
  const Use *from = find_use(send, CopySlot::from), *to = find_use(recv, CopySlot::to);
  if (!from || !to) return "send or recv without an operand";
  return move(recv, *from, from_rank, *to, to_rank);
}

void SymbolicRun::grad_norm(const Instruction& i, int rank) {
  Symbol sum = 0;
  for (const Use& u : i.uses) {
    if (u.slot < NormSlot::first_gradient) continue;
    const auto run = cells(rank).of(u);
    for (int c = run.begin; c < run.end; ++c)
      sum +=
          norm_symbol(at(rank, c), u.slot - NormSlot::first_gradient, cells(rank).element(c, rank));
  }
  for (const Use& u : i.uses)
    if (u.slot == NormSlot::norm2) store(u, rank, sum);
}

/// Of an update, what is of a group has the parameter's elements.
std::string SymbolicRun::require_same_elements(const Instruction& i, int rank) const {
  const Use* const parameter = find_use(i, UpdateSlot::parameter);
  if (!parameter) return std::string(name_of(i.op)) + " without a parameter";
  const auto like = cells(rank).of(*parameter);
  for (const Use& u : i.uses) {
    if (!is_of_group(buffer(u, rank)) || is_of_tensors(u, rank)) continue;
    const auto run = cells(rank).of(u);
    bool same = run.end - run.begin == like.end - like.begin;
    for (int k = 0; same && k < like.end - like.begin; ++k)
      same = cells(rank).element(run.begin + k, rank) == cells(rank).element(like.begin + k, rank);
    if (!same)
      return std::string(name_of(i.op)) + " of " + buffer(*parameter, rank).name +
             " with other elements of " + buffer(u, rank).name;
  }
  return "";
}

/// What an update of the parameter's cell of that number reads; none: what is of no cell.
UpdateOperands SymbolicRun::update_operands(const Instruction& i, int rank, int cell) {
  UpdateOperands o;
  for (const Use& u : i.uses) {
    if (!reads(u.how)) continue;
    const bool of_cells = is_of_group(buffer(u, rank)) && !is_of_tensors(u, rank);
    if (!of_cells)
      o.present.emplace_back(u.slot, operand(u, rank));
    else if (cell != none)
      o.present.emplace_back(u.slot, at(rank, cells(rank).of(u).begin + cell));
  }
  std::sort(o.present.begin(), o.present.end());
  return o;
}

std::string SymbolicRun::update(const Instruction& i, int rank) {
  if (std::string problem = require_same_elements(i, rank); !problem.empty()) return problem;
  const auto like = cells(rank).of(*find_use(i, UpdateSlot::parameter));
  for (int k = 0; k < like.end - like.begin; ++k) {
    const UpdateOperands o = update_operands(i, rank, k);
    for (const Use& u : i.uses)
      if (writes(u.how)) at(rank, cells(rank).of(u).begin + k) = o.result(u.slot);
  }
  return "";
}

/// An update that needs sums over whole tensors, or `measure`, which makes the next one of the
/// parts that are here. What sums are not given are made of what is here, which is right where that
/// is all.
std::string SymbolicRun::update_tensors(const Instruction& i, int rank) {
  if (std::string problem = require_same_elements(i, rank); !problem.empty()) return problem;
  const auto like = cells(rank).of(*find_use(i, UpdateSlot::parameter));
  const Use* made = nullptr;
  int round = 0;
  for (const Use& u : i.uses)
    if (UpdateSlot::is_sums(u.slot))
      u.how == How::read ? static_cast<void>(++round) : static_cast<void>(made = &u);
  if ((i.op == Op::measure) != (made != nullptr) ||
      (made && made->slot != UpdateSlot::first_sums + round))
    return "sums over " + buffer(*find_use(i, UpdateSlot::parameter), rank).name +
           " that are not the next";
  std::vector<std::pair<Slot, Symbol>> sums;  // made here
  const auto with_sums = [&](int cell) {
    UpdateOperands o = update_operands(i, rank, cell);
    o.present.insert(o.present.end(), sums.begin(), sums.end());
    std::sort(o.present.begin(), o.present.end());
    return o;
  };
  for (; round < rounds_; ++round) {
    if (round + 1 == rounds_) {
      const UpdateOperands before = with_sums(none);
      for (const Use& u : i.uses)
        if (writes(u.how) && is_of_tensors(u, rank))
          at(rank, cells(rank).of(u).begin) = before.result(u.slot);
    }
    Symbol sum = 0;
    for (int k = 0; k < like.end - like.begin; ++k)
      sum += with_sums(k).share_of_sum(round, cells(rank).element(like.begin + k, rank));
    if (made) {
      store(*made, rank, sum);
      return "";
    }
    sums.emplace_back(UpdateSlot::first_sums + round, sum);
  }
  for (int k = 0; k < like.end - like.begin; ++k) {
    const UpdateOperands o = with_sums(k);
    for (const Use& u : i.uses)
      if (writes(u.how) && !is_of_tensors(u, rank))
        at(rank, cells(rank).of(u).begin + k) = o.result(u.slot);
  }
  return "";
}

}  // namespace trainx::program
