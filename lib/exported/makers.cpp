#include "exported/makers.hpp"
#include <cmath>

namespace trainx::exported {

Makers::Makers(const PreparedGraph& graph) : graph_(graph), of_(graph.values, -1) {
  for (std::size_t k = 0; k < graph.calls.size(); ++k)
    for (const std::int64_t v : graph.calls[k].outputs)
      of_[static_cast<std::size_t>(v)] = static_cast<std::int64_t>(k);
}

const Call* Makers::of(const Slot& slot, std::string_view op) const {
  if (slot.value < 0) return nullptr;
  const std::int64_t k = of_[static_cast<std::size_t>(slot.value)];
  const Call* const call = k < 0 ? nullptr : &graph_.calls[static_cast<std::size_t>(k)];
  return call && call->op && !call->fused && call->op->schema().name() == op ? call : nullptr;
}

std::optional<double> number_of(const Slot& slot) {
  if (slot.value >= 0 || !slot.constant.isScalar()) return std::nullopt;
  return slot.constant.toScalar().toDouble();
}

bool is_number(const Slot& slot, double wanted) {
  const auto number = number_of(slot);
  return number && std::abs(*number - wanted) <= 1e-6 * std::abs(wanted);
}

bool is_value(const Slot& slot, std::int64_t value) { return value >= 0 && slot.value == value; }

Slot slot_of(std::int64_t value) {
  Slot slot;
  slot.value = value;
  return slot;
}

bool is_plain_sum(const Call& add) { return is_number(add.slots.at(2), 1); }

}  // namespace trainx::exported
