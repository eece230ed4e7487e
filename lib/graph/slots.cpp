#include "graph/slots.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::graph {

using namespace operations;
using program::How;
using program::Role;
using program::SlotSpec;
using program::TensorSpec;

Slot Slots::add(SlotSpec slot) {
  slot.tensor.name = slot.name;
  spec_.slots.push_back(std::move(slot));
  return static_cast<Slot>(spec_.slots.size()) - 1;
}

Slot Slots::find_or_add(std::string name, Role role, int index, const TensorSpec& like) {
  for (std::size_t s = 0; s < spec_.slots.size(); ++s)
    if (spec_.slots[s].role == role && spec_.slots[s].index == index) return static_cast<Slot>(s);
  return add({.name = std::move(name), .role = role, .index = index, .tensor = like});
}

std::string Slots::unused(std::string name) const {
  const auto taken = [&](const std::string& n) {
    return std::ranges::any_of(spec_.slots, [&](const SlotSpec& s) { return s.name == n; });
  };
  if (!taken(name)) return name;
  int number = 2;
  while (taken(name + std::to_string(number))) ++number;
  return name + std::to_string(number);
}

Slot Slots::batch(int index) {
  const TensorSpec& t = of_.graph.batch[static_cast<std::size_t>(index)];
  return find_or_add(t.name, Role::batch, index, t);
}

Slot Slots::value(int index, bool gradient) {
  const TensorSpec& t = of_.graph.values[static_cast<std::size_t>(index)];
  return gradient ? find_or_add("d_" + t.name, Role::value_gradient, index, t)
                  : find_or_add(t.name, Role::value, index, t);
}

Slot Slots::group(int index, bool gradient) {
  const program::GroupSpec& g = of_.graph.groups[static_cast<std::size_t>(index)];
  if (gradient)
    return find_or_add("d_" + g.name, Role::gradient, index,
                       {.dtype = DType::f32, .dims = {g.elements}});
  return find_or_add(g.name, Role::parameter, index,
                     {.dtype = of_.graph.compute, .dims = {g.elements}});
}

Slot Slots::scalar(int index) {
  const program::ScalarSpec& s = of_.graph.scalars[static_cast<std::size_t>(index)];
  return find_or_add(s.name, s.role, index, s);
}

Slot Slots::saved(std::string name, const TensorType& type, bool cheap) {
  return add({.name = unused(std::move(name)),
              .role = Role::saved,
              .tensor = {.name = {}, .dtype = type.dtype, .dims = type.dims},
              .from = {},
              .cheap = cheap});
}

Slot Slots::scratch(std::string name, const TensorType& type) {
  return add({.name = unused(std::move(name)),
              .role = Role::scratch,
              .tensor = {.name = {}, .dtype = type.dtype, .dims = type.dims}});
}

Slot Slots::shared_scratch(const std::string& name, const TensorType& type) {
  for (std::size_t s = 0; s < spec_.slots.size(); ++s) {
    SlotSpec& slot = spec_.slots[s];
    if (slot.role != Role::scratch || slot.name != name) continue;
    if (slot.tensor.elements() < type.elements()) slot.tensor.dims = type.dims;
    return static_cast<Slot>(s);
  }
  return scratch(name, type);
}

BoundParameter Slots::bind(const ParameterId& p, bool value, bool gradient) {
  BoundParameter bound;
  if (p.index == none) return bound;
  const ParameterPlaces::Place place = of_.places[static_cast<std::size_t>(p.index)];
  if (value) bound.value = group(place.group);
  if (gradient) bound.gradient = group(place.group, true);
  bound.first = place.index;
  bound.count = p.count;
  return bound;
}

void Uses::note(Slot s, How how) {
  const auto at = std::ranges::find(uses_, s, &program::SlotUse::slot);
  if (at == uses_.end())
    uses_.push_back({s, how});
  else if (at->how == How::read && how != How::read)
    at->how = how == How::overwrite ? How::modify : how;
}

std::vector<program::SlotUse> Uses::list() const {
  std::vector<program::SlotUse> out;
  for (const bool reads : {true, false})
    for (const program::SlotUse& u : uses_)
      if ((u.how == How::read) == reads) out.push_back(u);
  return out;
}

Slot GradientScratch::take(const std::string& name, const TensorType& type) {
  for (Entry& e : entries_)
    if (e.free && e.dtype == type.dtype && e.elements == type.elements()) {
      e.free = false;
      return e.slot;
    }
  const Slot s = slots_.scratch("d_" + name, type);
  entries_.push_back({s, type.dtype, type.elements()});
  return s;
}

void GradientScratch::give_back(Slot s) {
  for (Entry& e : entries_)
    if (e.slot == s) e.free = true;
}

bool GradientScratch::owns(Slot s) const {
  return std::ranges::any_of(entries_, [&](const Entry& e) { return e.slot == s; });
}

void BackwardWalk::begin() {
  for (const Node& op : of_.block().ops)
    for (const ValueId v : op.outputs)
      if (v != none && of_.map.outside[static_cast<std::size_t>(v)])
        place(v, slots_.value(of_.crossing(of_.map.home[static_cast<std::size_t>(v)]), true));
}

void BackwardWalk::bring(const Node& op, const Types& types, const InputGradient& g,
                         BoundOp& bound) {
  const ValueId v = op.inputs[static_cast<std::size_t>(g.input)];
  if (v == none || of_.value(v).batch != none || g.same_as != program::none) return;
  BoundGradient& to = bound.input_gradients[static_cast<std::size_t>(g.input)];
  if (!of_.is_made_here(v)) {
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
  const TensorType& type = types.inputs[static_cast<std::size_t>(g.input)];
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

void add_cost(program::Phase& phase, const Operation& operation, const Cost& cost,
              const BoundOp& bound, std::int64_t times) {
  const auto slot = [&](int out) {
    return out == program::none ? none : bound.outputs[static_cast<std::size_t>(out)];
  };
  for (const Cost::Product& p : cost.products) {
    program::Gemm& g = phase.gemms.emplace_back(p.gemm);
    g.count *= times;
    g.output = slot(p.output);
  }
  if (cost.attention) {
    phase.attention_flops = cost.attention->flops;
    phase.attention_output = slot(cost.attention_output);
    phase.attention_head = cost.attention->head_size;
    phase.attention_rows = cost.attention->rows;
    phase.plain_attention = !cost.attention->fused;
  }
  for (const KernelLaunches& k : cost.kernels) {
    phase.other_kernels += k.count * times;
    phase.kernels.push_back({k.family, k.count * times});
  }
  if (cost.element_bytes > 0 || cost.element_flops > 0)
    phase.element_work.push_back({std::visit([](const auto& op) { return op.work; }, operation),
                                  cost.element_flops * static_cast<double>(times),
                                  cost.element_bytes * static_cast<double>(times),
                                  slot(cost.element_output)});
}

std::vector<Slot> bind_scratch(const Cost& cost, Slots& slots, Uses& uses) {
  std::vector<Slot> out(cost.scratch.size(), none);
  for (std::size_t k = 0; k < cost.scratch.size(); ++k) {
    const ScratchSpec& s = cost.scratch[k];
    if (!s.type.defined()) continue;
    out[k] = slots.shared_scratch(std::string(s.name), s.type);
    uses.write(out[k], How::overwrite);
  }
  return out;
}

}  // namespace trainx::graph
