#include "plan/choose_mode.hpp"
#include "plan/choose_offload.hpp"
#include "core/units.hpp"
#include "plan/fit.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::plan {

using recipe::ParallelMode;

namespace {

/// The run in one mode, with what is then chosen for it.
struct Weighed {
  ParallelMode mode;
  std::int64_t bytes = 0;
  double seconds = 0;                   // of a step; 0 without rates
};

Weighed weigh(const RunPlan& plan, ParallelMode mode, bool fit, std::int64_t budget, const program::Rates* rates) {
  RunPlan other = plan;
  other.mode = mode;
  other.recipe.memory.fit = fit;
  choose_what_fits(other, budget, rates);
  plan_programs(other);
  Weighed w{mode, plan_memory_budget(other).total_bytes()};
  const PlacedProgram& placed = other.train.back();
  if (rates && rates->link_bytes_per_s > 0) w.seconds = program::predict_time(placed.program, placed.order, placed.graph, *rates).step_s;
  return w;
}

std::string what_is_kept(ParallelMode mode) {
  switch (mode) {
    case ParallelMode::zero1: return "each rank keeps and updates a shard of exact weights and optimizer states";
    case ParallelMode::zero2: return "each rank keeps a shard of gradients too";
    default: return "each rank keeps a shard of everything, and gathers weights one block ahead of each use";
  }
}

/// Why there are no shards, or nothing.
std::string cannot_shard(const RunPlan& plan) {
  if (plan.recipe.optimizer.update_in_backward) return "updates in backward have no gradient left to shard";
  if (offloads_optimizer(plan) && plan.update.unit == program::Unit::tensor) return "updates on the host do not sum over the parts of a tensor";
  return "";
}

}  // namespace

void require_shards_on_host(const RunPlan& plan) {
  if (plan.zero_stage() == 0 || !offloads_optimizer(plan) || plan.update.unit != program::Unit::tensor) return;
  const std::string optimizer = recipe::alternative_name(plan.recipe.optimizer.options), mode = recipe::write_value(plan.mode);
  throw UserError(ExitCode::invalid_recipe, "memory.optimizer_offload: " + recipe::write_value(plan.recipe.memory.optimizer_offload.where) + " and parallel.mode: " + mode + " cannot go together with optimizer.type: " + optimizer +
                                                ", whose updates need sums over tensors of which a host has parts alone; write another optimizer, parallel.mode: ddp, or leave optimizer_offload out");
}

void choose_mode(RunPlan& plan, int rank) {
  auto& r = plan.recipe;
  const std::int64_t world = r.parallel.world_size.value.value_or(1);
  if (r.parallel.mode.is_auto()) {
    plan.mode = world > 1 ? ParallelMode::ddp : ParallelMode::single;
  } else {
    plan.mode = *r.parallel.mode.value;
    if (plan.mode == ParallelMode::single && world > 1)
      throw UserError(ExitCode::invalid_recipe, "parallel.mode is single, and there are " + std::to_string(world) + " ranks; write auto or ddp");
    if (plan.mode != ParallelMode::single && world == 1) {
      plan.choices.push_back("parallel.mode single: there is one rank, with which " + recipe::write_value(plan.mode) + " is the same");
      plan.mode = ParallelMode::single;
    }
  }
  if (r.precision.reduce != recipe::Reduce::fp32 && world == 1)
    throw UserError(ExitCode::invalid_recipe, "precision.reduce is bf16, and with one rank no gradient travels; write fp32, or start more ranks");
  plan.rank = plan.mode == ParallelMode::dp ? rank : 0;
  plan.shard_ranks = static_cast<int>(world);
  if (world == 1) r.parallel.shard_ranks = {};   // one rank's shards are the whole
  if (const auto asked = r.parallel.shard_ranks.value; asked && world % *asked != 0)
    throw UserError(ExitCode::invalid_recipe, "parallel.shard_ranks (" + std::to_string(*asked) + ") must divide the number of ranks, which is " + std::to_string(world));
  r.parallel.world_size = {world};
}

void choose_shards(RunPlan& plan, std::int64_t budget, const program::Rates* rates) {
  auto& mode = plan.recipe.parallel.mode;
  const bool is_auto = mode.is_auto();
  mode = {plan.mode};
  if (!is_auto || plan.mode == ParallelMode::single) return;
  const std::string whole = "parallel.mode ddp: " + std::to_string(plan.batch.world_size) + " ranks, each holds the whole model, and gradients are summed beside backward; ";
  Weighed ddp{ParallelMode::ddp};
  const auto fits = [&](const Weighed& w) { return budget <= 0 || w.bytes <= budget; };
  if (budget > 0) ddp = weigh(plan, ParallelMode::ddp, false, budget, rates);
  if (fits(ddp)) return plan.choices.push_back(whole + "dp would send weights and batches as well");
  const std::string too_much = "needs " + human_bytes(ddp.bytes) + " of " + human_bytes(budget);
  if (const std::string why = cannot_shard(plan); !why.empty()) return plan.choices.push_back(whole + "it " + too_much + ", and there are no shards: " + why);
  std::vector<Weighed> all;
  for (const bool fit : plan.recipe.memory.fit ? std::vector{false, true} : std::vector{false}) {   // shards are cheaper than recomputation
    all.clear();
    for (const ParallelMode m : {ParallelMode::zero1, ParallelMode::zero2, ParallelMode::zero3})
      if (const Weighed w = weigh(plan, m, fit, budget, rates); fits(w) || (m == ParallelMode::zero3 && all.empty())) all.push_back(w);
    if (fits(all.front())) break;
  }
  const Weighed best = *std::ranges::min_element(all, {}, &Weighed::seconds);   // of equal ones the first
  plan.mode = best.mode;
  mode = {plan.mode};
  std::string text = "parallel.mode " + recipe::write_value(plan.mode) + ": ddp, where each rank holds the whole model, " + too_much + "; here " + what_is_kept(plan.mode) + ", " + human_bytes(best.bytes);
  if (best.seconds > 0) {
    char cost[64];
    std::snprintf(cost, sizeof cost, "; costs %.1f %% of a step more", 100 * std::max(0.0, best.seconds / ddp.seconds - 1));
    text += cost;
  }
  plan.choices.push_back(std::move(text));
}

void choose_shard_ranks(RunPlan& plan, std::int64_t local_ranks, std::int64_t budget, const program::Rates* rates) {
  if (plan.zero_stage() == 0) return;
  auto& asked = plan.recipe.parallel.shard_ranks;
  const std::int64_t world = plan.batch.world_size;
  if (!asked.is_auto()) {
    plan.shard_ranks = static_cast<int>(*asked.value);
    return;
  }
  const bool several_nodes = local_ranks > 1 && local_ranks < world && world % local_ranks == 0;
  if (several_nodes) {
    RunPlan of_node = plan;
    of_node.shard_ranks = static_cast<int>(local_ranks);
    const Weighed w = weigh(of_node, plan.mode, plan.recipe.memory.fit, budget, rates);
    const std::string among = "among the " + std::to_string(local_ranks) + " ranks of one node";
    if (budget <= 0 || w.bytes <= budget) {
      plan.shard_ranks = of_node.shard_ranks;
      plan.choices.push_back("parallel.shard_ranks " + std::to_string(local_ranks) + ": shards lie " + among + ", so that weights are gathered within it; " + std::to_string(world / local_ranks) +
                             " nodes hold the same, and sum the gradients of their shards; " + human_bytes(w.bytes));
    } else {
      plan.choices.push_back("parallel.shard_ranks " + std::to_string(world) + ", all: shards " + among + " would need " + human_bytes(w.bytes) + " of " + human_bytes(budget));
    }
  }
  asked = {plan.shard_ranks};
}

}  // namespace trainx::plan
