#include "exported/call.hpp"
#include <c10/core/ScalarType.h>
#include <algorithm>

namespace trainx::exported {

void find_differentiable(PreparedGraph& graph) {
  std::vector<bool> reached(graph.values, false);
  for (std::size_t k = 0; k < graph.operand_types.size(); ++k)
    reached[k] = c10::isFloatingType(graph.operand_types[k]);
  const auto is_reached = [&](const Slot& s) {
    return s.value >= 0 && reached[static_cast<std::size_t>(s.value)];
  };
  for (Call& call : graph.calls) {
    bool any = false;
    for (std::size_t k = 0; k < call.slots.size(); ++k) {
      const Slot& s = call.slots[k];
      any |= is_reached(s) || std::ranges::any_of(s.items, is_reached);
      if (call.op && is_reached(s)) call.differentiable.push_back(k);
    }
    const std::string name = call.op ? call.op->schema().name() : "";
    if (name != "aten::scaled_dot_product_attention") call.differentiable.clear();
    if (name != "aten::detach" && name != "aten::sym_size")
      for (const std::int64_t v : call.outputs) reached[static_cast<std::size_t>(v)] = any;
  }
}

void find_frees(PreparedGraph& graph) {
  std::vector<bool> wanted(graph.values, false);
  for (const std::int64_t r : graph.results) wanted[static_cast<std::size_t>(r)] = true;
  for (auto call = graph.calls.rbegin(); call != graph.calls.rend(); ++call) {
    call->frees.clear();
    const auto last_read = [&](std::int64_t v) {
      if (v < 0 || wanted[static_cast<std::size_t>(v)]) return;
      wanted[static_cast<std::size_t>(v)] = true;
      call->frees.push_back(v);
    };
    for (const std::int64_t v : call->outputs) last_read(v);
    for (const Slot& s : call->slots) {
      last_read(s.value);
      for (const Slot& item : s.items) last_read(item.value);
    }
  }
}

}  // namespace trainx::exported
