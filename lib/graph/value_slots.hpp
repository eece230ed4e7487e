#pragma once
#include "graph/model.hpp"

namespace trainx::graph {

/// Slots of values; none of those that were not put. A block has few.
class ValueSlots {
 public:
  Slot of(ValueId v) const {
    for (const auto& [value, slot] : all_)
      if (value == v) return slot;
    return none;
  }
  void put(ValueId v, Slot s) {
    for (auto& [value, slot] : all_)
      if (value == v) return void(slot = s);
    all_.emplace_back(v, s);
  }

 private:
  std::vector<std::pair<ValueId, Slot>> all_;
};

}  // namespace trainx::graph
