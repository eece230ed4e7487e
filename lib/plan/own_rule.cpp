#include "plan/own_rule.hpp"
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
const options::OwnOptimizerOptions* rule_of(const Draft& plan) {
  const bool all_on_host = offloads_optimizer(plan) && plan.groups_on_device == 0;
  if (!plan.on_gpu || all_on_host) return nullptr;
  return std::get_if<options::OwnOptimizerOptions>(&plan.recipe.optimizer.options);
}

}  // namespace

OwnRuleMemory own_rule_memory(const Draft& plan, const Programs& programs) {
  const auto* const rule = rule_of(plan);
  if (!rule) return {};
  const PlacedProgram& longest = programs.train.back();
  if (std::ranges::count(longest.program.steady, program::Op::update, &program::Instruction::op) ==
      0)
    return {};
  std::int64_t trained = 0;
  for (const program::GroupSpec& g : longest.graph.groups)
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

double own_rule_element_s(const Draft& plan, const program::Rates& rates) {
  const auto* const rule = rule_of(plan);
  if (!rule) return 0;
  const auto states = static_cast<double>(rule->kept.size());
  if (rule->on_tensors) {
    if (!plan.own_rule) return 0;
    // laid out and put back: weights, gradients and states read and written, but for gradients
    // twice
    const double staged = 4 * (2 * (2 + states) + 2 * (1 + states));
    return plan.own_rule->seconds_per_element + staged / rates.memory_bytes_per_s;
  }
  if (rates.host_bytes_per_s <= 0) return 0;
  const double copied = 4 * (3 + 2 * states) / rates.host_bytes_per_s,
               updated = rates.host_update_bytes_per_s > 0
                             ? 4 * (3 + 2 * states) / rates.host_update_bytes_per_s
                             : 0;
  return copied + updated;
}

std::string own_rule_note(const Draft& plan) {
  const auto* const rule = rule_of(plan);
  if (!rule) return {};
  if (!rule->on_tensors)
    return "optimizer " + rule->name +
           " updates numbers: the CPU calls its rule, and weights, gradients and states are copied "
           "to the host and back in each step; a rule that takes trainx::UpdateTensors computes on "
           "the GPU";
  if (plan.own_rule || !plan.rates) return {};
  return "how long the rule of optimizer " + rule->name +
         " computes is measured on the GPU: here it is predicted to take no longer than its memory";
}

std::string own_rule_not_captured(const Draft& plan) {
  const auto* const rule = rule_of(plan);
  return rule && rule->on_tensors && plan.own_rule ? plan.own_rule->not_captured : "";
}

}  // namespace trainx::plan
