#include "plan/weight_casts.hpp"
#include "core/units.hpp"
#include "plan/choose/offload.hpp"
#include "plan/memory_plan.hpp"
#include "plan/precision.hpp"
#include "plan/programs.hpp"

namespace trainx::plan {

bool casts_weights_once(const Decisions& plan) {
  return fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::off && plan.zero_stage() != 3 &&
         !offloads_weights(plan) && plan.casts_weights_once.value_or(true);
}

bool casts_weights_before_gathers(const Decisions& plan) {
  return fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::off && plan.zero_stage() == 3 &&
         fp8_scaling_of(plan.recipe.precision) != graph::Fp8Scaling::blocks &&
         !offloads_weights(plan) && plan.casts_weights_once.value_or(true);
}

graph::Fp8WeightCasts weight_casts_of(const Decisions& plan) {
  return casts_weights_once(plan)             ? graph::Fp8WeightCasts::once_a_step
         : casts_weights_before_gathers(plan) ? graph::Fp8WeightCasts::before_gathers
                                              : graph::Fp8WeightCasts::in_each_use;
}

void choose_weight_casts(Decisions& plan) {
  const bool gathers = casts_weights_before_gathers(plan);
  if (weight_casts_of(plan) == graph::Fp8WeightCasts::in_each_use) return;
  plan.casts_weights_once = true;
  if (plan.budget_bytes <= 0) return;
  const auto bytes_of = [](const Decisions& decided) {
    return plan_memory_totals(decided, plan_programs(decided, Extent::bytes)).total_bytes();
  };
  const std::int64_t with_copies = bytes_of(plan);
  if (with_copies <= plan.budget_bytes) return;
  plan.casts_weights_once = false;
  const std::int64_t without = bytes_of(plan);
  if (without >= with_copies) {
    plan.casts_weights_once = true;
    return;
  }
  plan.choices.push_back(
      std::string(gathers
                      ? "weights are gathered in " + std::string(name_of(plan.compute)) + ", and"
                      : "weights are") +
      " cast to fp8 in each micro-step, in forward and again in backward (" + human_bytes(without) +
      "): with copies that live for a whole step the run would need " + human_bytes(with_copies) +
      " of " + human_bytes(plan.budget_bytes));
}

}  // namespace trainx::plan
