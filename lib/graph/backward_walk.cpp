#include "graph/backward_walk.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::graph {

using namespace operations;
using program::How;

void BackwardWalk::begin() {
  for (const Node& op : of_.block().ops)
    for (const ValueId v : op.outputs)
      if (v != none && of_.map.outside[static_cast<std::size_t>(v)])
        place(v, slots_.value(of_.crossing(of_.map.home[static_cast<std::size_t>(v)]), true));
}

namespace {

/// Of a sum over picked rows the residual has all of them.
bool picks_rows(const Node& op, const Types& types) {
  const auto* sum = std::get_if<ResidualNorm>(&op.operation);
  return sum && sum->adds && types.has_input(ResidualNorm::rows);
}

}  // namespace

void BackwardWalk::bring(const Node& op, const Types& types, const InputGradient& g,
                         BoundOp& bound) {
  const ValueId read = op.inputs[static_cast<std::size_t>(g.input)];
  if (read == none || of_.value(read).batch != none) return;
  // the gradient of a value that is cast here belongs to the value before the cast
  const ValueId v = of_.is_made_here(read) ? target_of(op, g.input) : read;
  // inside a block whose operations change gradients in place each value has its own
  if (g.same_as != program::none && !of_.is_made_here(v)) return;
  BoundGradient& to = bound.input_gradients[static_cast<std::size_t>(g.input)];
  if (!of_.is_made_here(v)) {
    if (g.unused) {
      to.to =
          scratch_.take(of_.value(v).name, picks_rows(op, types)
                                               ? of_.value(v).type
                                               : types.inputs[static_cast<std::size_t>(g.input)]);
      return uses_.write(to.to, How::overwrite);
    }
    const ValueId home = of_.map.home[static_cast<std::size_t>(target_of(op, g.input))];
    to.to = slots_.value(of_.crossing(home), true);
    const bool again = std::ranges::find(written_, to.to) != written_.end(),
               later = of_.map.last_writer[static_cast<std::size_t>(home)] > of_.number;
    if (again || later) to.addend = to.to;
    if (!again) uses_.write(to.to, later ? How::modify : How::overwrite);
    written_.push_back(to.to);
    return;
  }
  const auto out = static_cast<std::size_t>(g.over == program::none ? 0 : g.over);
  const Slot before = at(v), over = g.over == program::none ? none : bound.output_gradients[out];
  const TensorType& type = v == read ? types.inputs[static_cast<std::size_t>(g.input)]
                                     : of_.value(v).type;
  if (before != none) {
    to.addend = before;
    if (!scratch_.owns(before)) uses_.read(before);
    to.to = scratch_.owns(before) ? before : scratch_.take(of_.value(v).name, type);
  } else if (over != none && scratch_.owns(over)) {
    to.to = over;
  } else {
    to.to = scratch_.take(of_.value(v).name, type);
  }
  uses_.write(to.to, How::overwrite);
  place(v, to.to);
}

void BackwardWalk::add(const Node& op, const Types& types, const BackwardSpec& spec,
                       BoundOp& bound) {
  bound.output_gradients.assign(op.outputs.size(), none);
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (op.outputs[o] == none || at(op.outputs[o]) == none) continue;
    const Slot s = bound.output_gradients[o] = at(op.outputs[o]);
    if (scratch_.owns(s)) continue;
    if (spec.changes == static_cast<int>(o) &&
        of_.map.outside[static_cast<std::size_t>(op.outputs[o])])
      throw InternalError("block " + of_.block().name + " would change the gradient of its output");
    if (std::ranges::find(written_, s) != written_.end())
      throw InternalError("block " + of_.block().name + " changes a gradient that it still reads");
    uses_.read(s);
  }
  bound.input_gradients.assign(op.inputs.size(), {});
  for (const InputGradient& g : spec.inputs) bring(op, types, g, bound);
  for (const int p : spec.parameters) {
    BoundParameter& to = bound.parameters[static_cast<std::size_t>(p)];
    to.gradient = slots_.bind(op.parameters[static_cast<std::size_t>(p)], false, true).gradient;
    uses_.write(to.gradient, How::accumulate);
  }
  for (const Slot s : bound.output_gradients)
    if (s != none && std::ranges::none_of(bound.input_gradients,
                                          [&](const BoundGradient& g) { return g.to == s; }))
      scratch_.give_back(s);
}

}  // namespace trainx::graph
