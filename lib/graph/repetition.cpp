#include "graph/repetition.hpp"

namespace trainx::graph {
namespace {

/// Numbers of two lists that differ by one and the same amount.
class Shift {
 public:
  bool add(int before, int now) {
    if (before == none || now == none) return before == now;
    if (!is_known_) shift_ = now - before, is_known_ = true;
    return now - before == shift_;
  }
  int amount() const { return shift_; }

 private:
  bool is_known_ = false;
  int shift_ = 0;
};

class Comparison {
 public:
  Comparison(const Lowering& of, int other) : of_(of), other_(other) {}

  std::optional<Repetition> run() {
    const std::vector<Node>&then = of_.model.blocks[static_cast<std::size_t>(other_)].ops,
          &now = of_.block().ops;
    if (then.size() != now.size() ||
        of_.model.blocks[static_cast<std::size_t>(other_)].parts != of_.block().parts ||
        of_.model.blocks[static_cast<std::size_t>(other_)].rows_of_part != of_.block().rows_of_part)
      return std::nullopt;
    for (std::size_t k = 0; k < now.size(); ++k)
      if (!alike(then[k], now[k]) || !alike(facts(other_, k), facts(of_.number, k)))
        return std::nullopt;
    return Repetition{other_, crossing_.amount(), groups_.amount()};
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const NodeFacts& facts(int block, std::size_t node) const {
    return of_.map.facts[at(block)][node];
  }

  /// Which gradients are made.
  static bool alike(const NodeFacts& a, const NodeFacts& b) {
    return a.types.frozen_parameters == b.types.frozen_parameters &&
           a.types.constant_inputs == b.types.constant_inputs;
  }

  bool alike(const Node& a, const Node& b) {
    if (a.operation != b.operation || a.parameters.size() != b.parameters.size()) return false;
    if (!alike(a.inputs, b.inputs) || !alike(a.outputs, b.outputs) ||
        !alike(a.gradient_of, b.gradient_of))
      return false;
    for (std::size_t p = 0; p < a.parameters.size(); ++p)
      if (!alike(a.parameters[p], b.parameters[p])) return false;
    return true;
  }

  bool alike(const ParameterId& a, const ParameterId& b) {
    if (a.index == none || b.index == none) return a.index == b.index;
    const auto place = [&](const ParameterId& p) { return of_.places[at(p.index)]; };
    const auto& dims = [&](const ParameterId& p) -> const std::vector<std::int64_t>& {
      return of_.model.parameters[at(p.index)].spec.dims;
    };
    return a.count == b.count && a.parts == b.parts && a.part_of == b.part_of &&
           a.sections == b.sections && groups_.add(place(a).group, place(b).group) &&
           place(a).index == place(b).index && dims(a) == dims(b);
  }

  bool alike(const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!alike(a[i], b[i])) return false;
    return true;
  }

  bool alike(ValueId a, ValueId b) {
    if (a == none || b == none) return a == b;
    if (of_.value(a).batch != none || of_.value(b).batch != none) return a == b;
    const ValueMap& map = of_.map;
    const auto crossing = [&](ValueId v) { return v == none ? none : map.index[at(v)]; };
    const auto home = [&](ValueId v) { return map.home[at(v)]; };
    // where gradients come from, as seen from the block
    const auto later = [&](ValueId v, int block) {
      return home(v) != none && map.last_writer[at(home(v))] > block;
    };
    return values_.add(a, b) && crossing_.add(crossing(a), crossing(b)) &&
           values_.add(home(a), home(b)) && crossing_.add(crossing(home(a)), crossing(home(b))) &&
           map.outside[at(a)] == map.outside[at(b)] &&
           (map.producer[at(a)] == other_) == (map.producer[at(b)] == of_.number) &&
           later(a, other_) == later(b, of_.number) && of_.value(a).type == of_.value(b).type;
  }

  const Lowering& of_;
  int other_;
  Shift values_, crossing_, groups_;
};

}  // namespace

std::optional<Repetition> repetition_of(const Lowering& of) {
  if (of.block().kind != BlockKind::layer) return std::nullopt;
  for (int other = of.number - 1; other >= 0; --other) {
    const Block& block = of.model.blocks[static_cast<std::size_t>(other)];
    if (block.kind != BlockKind::layer || block.layer + 1 < of.block().layer) return std::nullopt;
    if (auto found = Comparison(of, other).run()) return found;
  }
  return std::nullopt;
}

program::BlockSpec repeated(const Lowering& of, const Repetition& like,
                            const program::BlockSpec& spec) {
  program::BlockSpec out = spec;
  out.name = of.block().name;
  out.layer = of.block().layer;
  out.parts = of.block().parts;
  for (program::SlotSpec& slot : out.slots) {
    const bool gradient = slot.role == program::Role::value_gradient ||
                          slot.role == program::Role::gradient;
    if (slot.role == program::Role::value || slot.role == program::Role::value_gradient)
      slot.name = of.graph.values[static_cast<std::size_t>(slot.index += like.values)].name;
    else if (slot.role == program::Role::parameter || slot.role == program::Role::gradient)
      slot.name = of.graph.groups[static_cast<std::size_t>(slot.index += like.groups)].name;
    else
      continue;
    if (gradient) slot.name = "d_" + slot.name;
    slot.tensor.name = slot.name;
  }
  return out;
}

}  // namespace trainx::graph
