#include "plan/choose/kept_weights.hpp"
#include "core/units.hpp"
#include "plan/choose/fit.hpp"
#include "plan/memory_plan.hpp"
#include "plan/explain/percent.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <cstdio>
#include <set>

namespace trainx::plan {
namespace {

// A smaller gain is below what the prediction is good for, and the memory is worth more.
constexpr double least_gain_of_keeping = 0.005;

/// The run where gathered weights stay so long.
struct Kept {
  int turns = 0;
  std::int64_t gathers = 0, groups = 0;  // of weights, in a step; of how many groups
  std::int64_t bytes = 0;
  double seconds = 0;  // of a step
};

Kept weigh_keeping(const Decisions& plan, int turns, const program::Rates& rates) {
  Decisions other = plan;
  other.turns_kept = turns;
  other.row_lengths = {plan.row_lengths.back()};
  const Programs programs = plan_programs(other, Extent::candidate);
  const PlacedProgram& placed = programs.train.back();
  std::set<program::BufferId> groups;
  Kept kept{turns};
  for (const program::Instruction& i : placed.program.steady)
    for (int k = 0; i.op == program::Op::gather; ++k) {
      const program::Use* shard = find_use(i, program::ShardSlot::from(k));
      if (!shard) break;
      ++kept.gathers, groups.insert(shard->buffer);
    }
  kept.groups = static_cast<std::int64_t>(groups.size());
  kept.bytes = plan_memory_totals(other, programs).total_bytes();
  kept.seconds = step_seconds(programs, rates);
  return kept;
}

}  // namespace

void choose_kept_weights(Decisions& plan, std::int64_t budget, const program::Rates* rates) {
  if (plan.zero_stage() != 3) return;
  const std::string again_text = "zero3 gathers weights again for backward";
  if (!rates || rates->link_bytes_per_s <= 0)
    return plan.choices.push_back(
        again_text +
        ", which takes the least memory: how fast the links between ranks are was not measured, so "
        "that what keeping them from forward would save is not known");
  const Kept again = weigh_keeping(plan, 0, *rates);
  // each twice as long as the one before, to where nothing is gathered twice
  std::vector<Kept> longer;
  for (int turns = 4; (longer.empty() ? again : longer.back()).gathers > again.groups; turns *= 2)
    longer.push_back(weigh_keeping(plan, turns, *rates));
  const auto fits = [&](const Kept& k) { return budget <= 0 || k.bytes <= budget; };
  const Kept* best = &again;
  for (const Kept& k : longer)
    if (fits(k) && k.seconds < (1 - least_gain_of_keeping) * best->seconds) best = &k;
  const std::string gathers = std::to_string(again.gathers) + " times a step";
  if (best != &again) {
    plan.turns_kept = best->turns;
    return plan.choices.push_back(
        "zero3 keeps weights from forward to backward where no more than " +
        std::to_string(best->turns) + " blocks' work lies between: they are gathered " +
        std::to_string(best->gathers) + " times a step instead of " +
        std::to_string(again.gathers) + ", which saves " +
        percent(1 - best->seconds / again.seconds) + " of it and takes " +
        human_bytes(best->bytes - again.bytes) + " more");
  }
  std::string why =
      "gathers lie beside the blocks before them, and keeping weights from forward would save less "
      "than " +
      percent(least_gain_of_keeping) + " of a step";
  const auto faster = std::ranges::find_if(longer, [&](const Kept& k) {
    return k.seconds < (1 - least_gain_of_keeping) * again.seconds;
  });
  if (faster != longer.end())
    why = "keeping them from forward would save " + percent(1 - faster->seconds / again.seconds) +
          " of a step, and needs " + human_bytes(faster->bytes) + " of " + human_bytes(budget);
  plan.choices.push_back(again_text + ", " + gathers + ": " + why);
}

}  // namespace trainx::plan
