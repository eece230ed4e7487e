#include "plan/own_rule_memory.hpp"
#include "plan/choose/offload.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {
namespace {

// 8 MiB of each tensor: so that a rule's operators, one after the other, find in the GPU's L2 cache
// what those before them wrote.
constexpr std::int64_t most_elements = std::int64_t{2} << 20;
constexpr std::int64_t chunk = 4096;
// Where nothing was measured: eight tensors.
constexpr double usual_bytes_per_element = 32;
constexpr std::int64_t of_numbers = std::int64_t{2} << 20;  // without elements, 512 bytes each

/// That of updates on the GPU; null: there are none.
const options::OwnOptimizerOptions* rule_of(const Decisions& plan) {
  const bool all_on_host = offloads_optimizer(plan) && plan.groups_on_device == 0;
  if (!plan.on_gpu || all_on_host || plan.is_replica()) return nullptr;
  return std::get_if<options::OwnOptimizerOptions>(&plan.recipe.optimizer.options);
}

}  // namespace

OwnRuleMemory own_rule_memory(const Decisions& plan, const program::ModelGraph& graph) {
  const auto* const rule = rule_of(plan);
  if (!rule) return {};
  std::int64_t trained = 0;
  for (const program::GroupSpec& g : graph.groups)
    if (g.training.trained) trained += g.elements;
  OwnRuleMemory memory;
  memory.elements =
      std::clamp<std::int64_t>((trained + chunk - 1) / chunk * chunk, chunk, most_elements);
  const auto tensors = 2 + static_cast<std::int64_t>(rule->kept.size());
  memory.staged_bytes = staged_alignment + tensors * memory.elements * 4;
  if (!rule->on_tensors) return memory;
  const double measured = plan.own_rule ? plan.own_rule->bytes_per_element
                                        : usual_bytes_per_element;
  // Pieces are taken where they fit first: an eighth more.
  const double bytes = std::ceil(static_cast<double>(memory.elements) * measured * 9 / 8);
  constexpr std::int64_t whole = std::int64_t{1} << 20;
  memory.rule_bytes = (static_cast<std::int64_t>(bytes) + of_numbers + whole - 1) / whole * whole;
  return memory;
}

std::string own_rule_not_captured(const Decisions& plan) {
  const auto* const rule = rule_of(plan);
  return rule && rule->on_tensors && plan.own_rule ? plan.own_rule->not_captured : "";
}

}  // namespace trainx::plan
