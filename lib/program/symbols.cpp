#include "program/symbols.hpp"
#include "core/error.hpp"
#include "program/operations.hpp"
#include <algorithm>

namespace trainx::program {

Symbol mix(Symbol a, Symbol b) {
  Symbol h = a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

Symbol named_symbol(std::string_view name) {
  Symbol h = 0x2545f4914f6cdd1du;
  for (const char c : name) h = mix(h, static_cast<unsigned char>(c));
  return h;
}

namespace {

enum class Tag : Symbol {
  forward = 1,
  operation,
  initial,
  batch,
  norm,
  contribution,
  step,
  applied,
  update,
  sum
};
Symbol tagged(Tag t) { return mix(0x6a09e667f3bcc909u, static_cast<Symbol>(t)); }

/// Outputs of a forward, each followed to what it is computed from.
class ForwardSymbols {
 public:
  ForwardSymbols(const ModelGraph& graph, int block, const std::vector<SlotUse>& uses,
                 std::vector<Symbol>& slots)
      : spec_(graph.blocks[block]),
        block_(block),
        slots_(slots),
        state_(slots.size(), State::absent) {
    for (const SlotUse& u : uses)
      state_[u.slot] = u.how == How::read ? State::known : State::wanted;
    all_reads_ = tagged(Tag::forward);
    for (std::size_t s = 0; s < slots.size(); ++s)
      if (state_[s] == State::known) all_reads_ = mix(all_reads_, s, slots[s]);
  }

  std::string run() {
    for (std::size_t s = 0; s < slots_.size() && problem_.empty(); ++s)
      if (state_[s] == State::wanted) slots_[s] = find(s);
    return problem_;
  }

 private:
  enum class State : std::uint8_t { absent, known, wanted, underway };

  Symbol find(std::size_t s) {
    if (state_[s] == State::known) return slots_[s];
    if (state_[s] != State::wanted) {
      problem_ = spec_.name + " needs its operand " + spec_.slots[s].name +
                 ", which the instruction does not use";
      return 0;
    }
    state_[s] = State::underway;
    Symbol h = mix(tagged(Tag::forward), static_cast<Symbol>(block_), s);
    if (spec_.slots[s].from.empty()) h = mix(h, all_reads_);
    for (const Slot f : spec_.slots[s].from) {
      h = mix(h, find(static_cast<std::size_t>(f)));
      if (!problem_.empty()) return 0;
    }
    state_[s] = State::known;
    return slots_[s] = h;
  }

  const BlockSpec& spec_;
  int block_;
  std::vector<Symbol>& slots_;
  std::vector<State> state_;
  Symbol all_reads_ = 0;
  std::string problem_;
};

}  // namespace

std::string block_symbols(const ModelGraph& graph, int block, Op op,
                          const std::vector<SlotUse>& uses, std::vector<Symbol>& slots) {
  if (op == Op::forward || op == Op::recompute || op == Op::cast_weights)
    return ForwardSymbols(graph, block, uses, slots).run();
  std::vector<const SlotUse*> sorted;
  for (const SlotUse& u : uses) sorted.push_back(&u);
  std::sort(sorted.begin(), sorted.end(),
            [](const SlotUse* a, const SlotUse* b) { return a->slot < b->slot; });
  Symbol h = mix(tagged(Tag::operation), static_cast<Symbol>(block), static_cast<Symbol>(op));
  for (const SlotUse* u : sorted)
    if (u->how == How::read || u->how == How::modify)
      h = mix(h, static_cast<Symbol>(u->slot), slots[u->slot]);
  const std::vector<SlotSpec>& specs = graph.blocks[block].slots;
  for (const SlotUse* u : sorted) {
    if (!writes(u->how)) continue;
    const SlotSpec& made = specs[u->slot];
    Symbol from = h;
    if (op == Op::loss && is_scalar(made.role) && !made.from.empty()) {
      from = mix(tagged(Tag::operation), static_cast<Symbol>(block), static_cast<Symbol>(op));
      for (const Slot f : made.from) from = mix(from, slots[f]);
    }
    slots[u->slot] = mix(from, static_cast<Symbol>(u->slot));
  }
  return "";
}

Symbol UpdateOperands::result(Slot written) const {
  Symbol h = tagged(Tag::update);
  for (const auto& [slot, symbol] : present) h = mix(h, static_cast<Symbol>(slot), symbol);
  return mix(h, static_cast<Symbol>(written));
}

Symbol UpdateOperands::share_of_sum(int round, std::int64_t element) const {
  return mix(tagged(Tag::sum), result(UpdateSlot::first_sums), static_cast<Symbol>(round),
             static_cast<Symbol>(element));
}

Symbol initial_symbol(Role role, int index, int item, std::int64_t element) {
  return mix(tagged(Tag::initial), static_cast<Symbol>(role), static_cast<Symbol>(index),
             static_cast<Symbol>(item), static_cast<Symbol>(element));
}
Symbol batch_symbol(int tensor, Symbol step, int micro, int rank) {
  return mix(tagged(Tag::batch), static_cast<Symbol>(tensor), step, static_cast<Symbol>(micro),
             static_cast<Symbol>(rank));
}
Symbol norm_symbol(Symbol gradient, int group, std::int64_t element) {
  return mix(tagged(Tag::norm), gradient, static_cast<Symbol>(group), static_cast<Symbol>(element));
}
Symbol contribution_symbol(Symbol gradient, std::int64_t element) {
  return mix(tagged(Tag::contribution), gradient, static_cast<Symbol>(element));
}
Symbol fp8_scale_symbol(Symbol parameter, Symbol ranges, int group, std::int64_t element) {
  return mix(named_symbol("fp8_scale"), parameter, ranges, static_cast<Symbol>(group),
             static_cast<Symbol>(element));
}
Symbol fp8_symbol(Symbol parameter, Symbol scales, Symbol ranges) {
  return mix(named_symbol("fp8"), parameter, scales, ranges);
}
Symbol rounded_symbol(Symbol exact, DType to) {
  return mix(named_symbol("cast"), static_cast<Symbol>(to), exact);
}
Symbol piece_symbol(Symbol whole, int part) {
  return mix(named_symbol("piece"), whole, static_cast<Symbol>(part));
}
Symbol joined_pieces(const std::vector<Symbol>& pieces) {
  if (pieces.size() == 1) return pieces.front();
  Symbol h = mix(named_symbol("pieces"), pieces.size());
  for (const Symbol piece : pieces) h = mix(h, piece);
  return h;
}
Symbol joined_parts(const std::vector<Symbol>& all, int place) {
  std::vector<Symbol> pieces;
  for (const Symbol of_rank : all) pieces.push_back(piece_symbol(of_rank, place));
  return joined_pieces(pieces);
}
Symbol sum_of_rows(const std::vector<Symbol>& shares, int place) {
  Symbol sum = 0;
  for (const Symbol share : shares) sum += piece_symbol(share, place);
  return sum;
}
Symbol advanced_symbol(Symbol counter, const Symbol* norm2) {
  return norm2 ? mix(tagged(Tag::applied), counter, *norm2) : mix(tagged(Tag::step), counter);
}

}  // namespace trainx::program
