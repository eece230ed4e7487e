#include "graph/slots.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::graph {

using namespace operations;
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

Slot Slots::batch(const ModelValue& value) {
  for (std::size_t s = 0; s < spec_.slots.size(); ++s) {
    const SlotSpec& known = spec_.slots[s];
    if (known.role == Role::batch && known.index == value.batch && known.own_rows == value.own_rows)
      return static_cast<Slot>(s);
  }
  return add({.name = value.name,
              .role = Role::batch,
              .index = value.batch,
              .tensor = {.name = {}, .dtype = value.type.dtype, .dims = value.type.dims},
              .own_rows = value.own_rows});
}

Slot Slots::value(int index, bool gradient) {
  const TensorSpec& t = of_.graph.values[static_cast<std::size_t>(index)];
  const Slot s = gradient ? find_or_add("d_" + t.name, Role::value_gradient, index, t)
                          : find_or_add(t.name, Role::value, index, t);
  if (spec_.parts.are_all_here()) (*this)[s].state = program::ValueState::of_part;
  return s;
}

Slot Slots::group(int index, bool gradient) {
  const program::GroupSpec& g = of_.graph.groups[static_cast<std::size_t>(index)];
  if (gradient)
    return find_or_add("d_" + g.name, Role::gradient, index,
                       {.dtype = DType::f32, .dims = {g.elements}});
  return find_or_add(g.name, Role::parameter, index,
                     {.dtype = g.fp8 ? DType::u8 : of_.graph.compute, .dims = {g.elements}});
}

Slot Slots::scalar(int index) {
  const program::ScalarSpec& s = of_.graph.scalars[static_cast<std::size_t>(index)];
  return find_or_add(s.name, s.role, index, s);
}

Slot Slots::saved(std::string name, const OutputSpec& output) {
  return add({.name = unused(std::move(name)),
              .role = Role::saved,
              .tensor = {.name = {}, .dtype = output.type.dtype, .dims = output.type.dims},
              .from = {},
              .cheap = output.cheap,
              .space = output.space});
}

Slot Slots::scratch(std::string name, const TensorType& type) {
  return add({.name = unused(std::move(name)),
              .role = Role::scratch,
              .tensor = {.name = {}, .dtype = type.dtype, .dims = type.dims}});
}

Slot Slots::cast_weight(std::string name, const TensorType& type, std::vector<Slot> from,
                        bool once_a_run) {
  return add({.name = unused(std::move(name)),
              .role = Role::cast_weight,
              .tensor = {.name = {}, .dtype = type.dtype, .dims = type.dims},
              .from = std::move(from),
              .once_a_run = once_a_run});
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
  bound.count = p.count > 1 && p.part_of == PartOf::tensors ? p.count / p.parts.count : p.count;
  return bound;
}

}  // namespace trainx::graph
