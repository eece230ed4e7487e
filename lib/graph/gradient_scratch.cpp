#include "graph/gradient_scratch.hpp"
#include <algorithm>

namespace trainx::graph {

using operations::TensorType;

Slot GradientScratch::take(const std::string& name, const TensorType& type) {
  for (Entry& e : entries_)
    if (e.free && e.dtype == type.dtype && e.rows == type.rows() && e.elements == type.elements()) {
      e.free = false;
      return e.slot;
    }
  const Slot s = slots_.scratch("d_" + name, type);
  entries_.push_back({s, type.dtype, type.rows(), type.elements()});
  return s;
}

void GradientScratch::give_back(Slot s) {
  for (Entry& e : entries_)
    if (e.slot == s) e.free = true;
}

bool GradientScratch::owns(Slot s) const {
  return std::ranges::any_of(entries_, [&](const Entry& e) { return e.slot == s; });
}

}  // namespace trainx::graph
