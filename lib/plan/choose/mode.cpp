#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "core/units.hpp"
#include "plan/choose/fit.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::plan {

using recipe::ParallelMode;

namespace {

/// The run in one mode, with what is then chosen for it.
struct WeighedMode {
  ParallelMode mode = ParallelMode::ddp;
  std::int64_t shard_ranks = 1;
  std::int64_t bytes = 0;
  double seconds = 0;  // of a step; 0 without rates of the links
  // keys that memory.fit gave another value than is written: "memory.optimizer_offload cpu"
  std::vector<std::string> with;
};

bool knows_links(const program::Rates* rates) { return rates && rates->link_bytes_per_s > 0; }

std::vector<std::string> changed_keys(const Decisions& plan, const Decisions& before) {
  std::vector<std::string> out;
  const auto &now = plan.recipe.memory, &written = before.recipe.memory;
  if (now.activation_checkpoint.value != written.activation_checkpoint.value &&
      !(written.activation_checkpoint.is_auto() &&
        now.activation_checkpoint.value->front() == RecomputeLevel::none))
    out.push_back("memory.activation_checkpoint " +
                  recipe::write_value(*now.activation_checkpoint.value));
  if (now.activation_offload != written.activation_offload)
    out.push_back("memory.activation_offload " + recipe::write_value(now.activation_offload));
  if (now.optimizer_offload.where != written.optimizer_offload.where)
    out.push_back("memory.optimizer_offload " + recipe::write_value(now.optimizer_offload.where));
  if (now.parameter_offload != written.parameter_offload)
    out.push_back("memory.parameter_offload " + recipe::write_value(now.parameter_offload));
  if (plan.batch.micro_batch_size != before.batch.micro_batch_size)
    out.push_back("batch.micro_batch_size " + std::to_string(plan.batch.micro_batch_size));
  return out;
}

WeighedMode weigh_mode(const Decisions& plan, ParallelMode mode, std::int64_t shard_ranks, bool fit,
                       std::int64_t budget, const program::Rates* rates) {
  Decisions other = plan;
  set_mode(other, mode);
  if (other.zero_stage() > 0) other.mesh.shard = static_cast<int>(shard_ranks);
  other.recipe.memory.fit = fit;
  // What is chosen in the end is searched for anew.
  other.searched = search_of(most_weighed);
  // Where times between ranks are not known modes are compared by memory alone.
  const program::Rates* const timed = knows_links(rates) ? rates : nullptr;
  choose_what_fits(other, budget, timed);
  const Programs programs = plan_programs(other, timed ? Extent::candidate : Extent::bytes);
  WeighedMode w{mode, shard_ranks, plan_memory_totals(other, programs).total_bytes(), 0,
                fit ? changed_keys(other, plan) : std::vector<std::string>{}};
  if (timed) w.seconds = step_seconds(programs, *timed);
  return w;
}

std::string what_is_kept(ParallelMode mode) {
  switch (mode) {
    case ParallelMode::zero1:
      return "each rank keeps and updates a shard of exact weights and optimizer states";
    case ParallelMode::zero2: return "each rank keeps a shard of gradients too";
    default:
      return "each rank keeps a shard of everything, and gathers weights one block ahead of each "
             "use";
  }
}

/// Why there are no shards, or nothing.
std::string cannot_shard(const Decisions& plan) {
  if (plan.recipe.optimizer.update_in_backward)
    return "updates in backward have no gradient left to shard";
  if (offloads_optimizer(plan) && plan.update.unit == program::Unit::tensor)
    return "updates on the host do not sum over the parts of a tensor";
  return "";
}

}  // namespace

void require_shards_on_host(const Decisions& plan) {
  if (plan.zero_stage() == 0 || !offloads_optimizer(plan) ||
      plan.update.unit != program::Unit::tensor)
    return;
  const std::string optimizer = recipe::alternative_name(plan.recipe.optimizer.options),
                    mode = recipe::write_value(plan.mode);
  throw UserError(
      ExitCode::invalid_recipe,
      "memory.optimizer_offload: " +
          recipe::write_value(plan.recipe.memory.optimizer_offload.where) +
          " and parallel.mode: " + mode + " cannot go together with optimizer.type: " + optimizer +
          ", whose updates need sums over tensors of which a host has parts alone; write another "
          "optimizer, parallel.mode: ddp, or leave optimizer_offload out");
}

void set_mode(Decisions& plan, ParallelMode mode) {
  plan.mode = mode;
  plan.mesh.shard = plan.zero_stage() > 0 ? plan.mesh.data : 1;
}

void choose_mode(Decisions& plan, int rank) {
  auto& r = plan.recipe;
  const std::int64_t world = r.parallel.world_size.value.value_or(1);
  if (r.parallel.mode.is_auto()) {
    plan.mode = world > 1 ? ParallelMode::ddp : ParallelMode::single;
  } else {
    plan.mode = *r.parallel.mode.value;
    if (plan.mode == ParallelMode::single && world > 1)
      throw UserError(ExitCode::invalid_recipe, "parallel.mode is single, and there are " +
                                                    std::to_string(world) +
                                                    " ranks; write auto or ddp");
    if (plan.mode != ParallelMode::single && world == 1) {
      plan.choices.push_back("parallel.mode single: there is one rank, with which " +
                             recipe::write_value(plan.mode) + " is the same");
      plan.mode = ParallelMode::single;
    }
  }
  if (r.precision.reduce != recipe::Reduce::fp32 && world == 1)
    throw UserError(ExitCode::invalid_recipe,
                    "precision.reduce is bf16, and with one rank no gradient travels; write fp32, "
                    "or start more ranks");
  plan.rank = plan.mode == ParallelMode::dp ? rank : 0;
  plan.mesh.data = static_cast<int>(world);
  set_mode(plan, plan.mode);
  if (world == 1) r.parallel.shard_ranks = {};  // one rank's shards are the whole
  if (const auto asked = r.parallel.shard_ranks.value; asked && world % *asked != 0)
    throw UserError(ExitCode::invalid_recipe, "parallel.shard_ranks (" + std::to_string(*asked) +
                                                  ") must divide the number of ranks, which is " +
                                                  std::to_string(world));
  r.parallel.world_size = {world};
}

namespace {

/// Ranks of one node, where there are several nodes of as many; else 0.
std::int64_t ranks_of_a_node(const Decisions& plan, std::int64_t local_ranks) {
  const std::int64_t world = plan.mesh.data;
  return local_ranks > 1 && local_ranks < world && world % local_ranks == 0 ? local_ranks : 0;
}

/// Weights that lie on the host stay there in zero3 alone.
std::vector<ParallelMode> modes_of_shards(const Decisions& plan) {
  if (plan.recipe.memory.parameter_offload != recipe::ParameterOffload::none)
    return {ParallelMode::zero3};
  return {ParallelMode::zero1, ParallelMode::zero2, ParallelMode::zero3};
}

/// Over how many ranks shards may lie, the fewest first: those of one node, and all.
std::vector<std::int64_t> shard_ranks_of(const Decisions& plan, std::int64_t local_ranks) {
  const std::int64_t node = ranks_of_a_node(plan, local_ranks), world = plan.mesh.data;
  return node > 0 ? std::vector{node, world} : std::vector{world};
}

std::string among_a_node(const Decisions& plan, std::int64_t node, std::int64_t bytes) {
  return "parallel.shard_ranks " + std::to_string(node) + ": shards lie among the " +
         std::to_string(node) + " ranks of one node, so that weights are gathered within it; " +
         std::to_string(plan.mesh.data / node) +
         " nodes hold the same, and sum the gradients of their shards; " + human_bytes(bytes);
}

std::string share_of_a_step(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

std::string name_of(const WeighedMode& w) {
  std::string text = recipe::write_value(w.mode);
  for (const std::string& key : w.with) text += (&key == &w.with.front() ? " with " : ", ") + key;
  return text;
}

}  // namespace

void choose_shards(Decisions& plan, std::int64_t local_ranks, std::int64_t budget,
                   const program::Rates* rates) {
  auto& mode = plan.recipe.parallel.mode;
  const bool is_auto = mode.is_auto(), may_fit = plan.recipe.memory.fit;
  mode = {plan.mode};
  if (!is_auto || plan.mode == ParallelMode::single) return;
  const std::string whole =
      "parallel.mode ddp: " + std::to_string(plan.mesh.data) +
      " ranks, each holds the whole model, and gradients are summed beside backward; ";
  const auto fits = [&](const WeighedMode& w) { return budget <= 0 || w.bytes <= budget; };
  WeighedMode ddp;
  if (budget > 0) ddp = weigh_mode(plan, ParallelMode::ddp, 1, false, budget, rates);
  if (fits(ddp)) return plan.choices.push_back(whole + "dp would send weights and batches as well");
  const std::string too_much = "needs " + human_bytes(ddp.bytes) + " of " + human_bytes(budget);
  if (const std::string why = cannot_shard(plan); !why.empty())
    return plan.choices.push_back(whole + "it " + too_much + ", and there are no shards: " + why);
  if (const std::int64_t layers = layers_of(plan.dims); layers > most_searched_layers)
    throw UserError(ExitCode::invalid_recipe,
                    "model.options.num_layers is " + with_commas(layers) + ", ddp " + too_much +
                        ", and trainx chooses among other modes for at most " +
                        with_commas(most_searched_layers) + " layers: write parallel.mode");
  std::vector<WeighedMode> all;
  const std::vector<std::int64_t> axis = shard_ranks_of(plan, local_ranks);
  const auto try_shards = [&](bool fit) {
    // within a node first: nothing is gathered between nodes
    for (const std::int64_t ranks : axis)
      for (const ParallelMode m : modes_of_shards(plan)) {
        const bool is_last = m == ParallelMode::zero3 && ranks == axis.back();
        const WeighedMode w = weigh_mode(plan, m, ranks, fit, budget, rates);
        if (fits(w) || (is_last && all.empty())) all.push_back(w);
        if (!all.empty() && !knows_links(rates)) return;  // the first that fits
      }
  };
  const bool by_time = may_fit && knows_links(rates);
  // shards against recomputation and the host, all at their cost
  if (by_time) {
    if (const WeighedMode w = weigh_mode(plan, ParallelMode::ddp, 1, true, budget, rates); fits(w))
      all.push_back(w);
    try_shards(true);
  } else {  // shards are cheaper than recomputation
    try_shards(false);
    if (may_fit && !fits(all.front())) {
      all.clear();
      try_shards(true);
    }
  }
  // of equal ones the first
  const WeighedMode best = *std::ranges::min_element(all, {}, &WeighedMode::seconds);
  set_mode(plan, best.mode);
  mode = {plan.mode};
  const auto cost = [&](const WeighedMode& w) {
    return w.seconds > 0 && ddp.seconds > 0
               ? "; costs " + share_of_a_step(std::max(0.0, w.seconds / ddp.seconds - 1)) +
                     " of a step more"
               : std::string();
  };
  if (best.mode == ParallelMode::ddp) {
    std::string text = whole + "it " + too_much + ", and fits with what memory.fit chooses, " +
                       human_bytes(best.bytes) + cost(best);
    const auto shards =
        std::ranges::min_element(all.begin() + 1, all.end(), {}, &WeighedMode::seconds);
    if (shards != all.end() && fits(*shards))
      text += "; " + name_of(*shards) + " would take " +
              share_of_a_step(shards->seconds / best.seconds - 1) +
              " longer by the links that were measured";
    return plan.choices.push_back(std::move(text));
  }
  plan.mesh.shard = static_cast<int>(best.shard_ranks);
  std::string text = "parallel.mode " + recipe::write_value(plan.mode) +
                     ": ddp, where each rank holds the whole model, " + too_much + "; here " +
                     what_is_kept(plan.mode) + ", " + human_bytes(best.bytes) + cost(best);
  if (by_time && all.front().mode == ParallelMode::ddp)
    text += "; " + name_of(all.front()) + " would take " +
            share_of_a_step(all.front().seconds / best.seconds - 1) + " longer";
  if (plan.mesh.data > 1 && !knows_links(rates) && plan.on_gpu)
    text +=
        "; how fast the links between ranks are was not measured (trainx doctor measures those of "
        "one machine): the first that fits";
  plan.choices.push_back(std::move(text));
  if (!fits(best)) return;
  if (const std::int64_t node = ranks_of_a_node(plan, local_ranks); best.shard_ranks == node)
    plan.choices.push_back(among_a_node(plan, node, best.bytes));
  else if (node > 0)
    plan.choices.push_back("parallel.shard_ranks " + std::to_string(best.shard_ranks) +
                           ", all: in no mode shards among the " + std::to_string(node) +
                           " ranks of one node fit " + human_bytes(budget) +
                           (best.with.empty() ? " as the run is written" : ""));
  plan.recipe.parallel.shard_ranks = {best.shard_ranks};
}

void choose_shard_ranks(Decisions& plan, std::int64_t local_ranks, std::int64_t budget,
                        const program::Rates* rates) {
  if (plan.zero_stage() == 0) return;
  auto& asked = plan.recipe.parallel.shard_ranks;
  const std::int64_t world = plan.mesh.data;
  if (!asked.is_auto()) {
    plan.mesh.shard = static_cast<int>(*asked.value);
    return;
  }
  if (const std::int64_t node = ranks_of_a_node(plan, local_ranks); node > 0) {
    const WeighedMode w = weigh_mode(plan, plan.mode, node, plan.recipe.memory.fit, budget, rates);
    if (budget <= 0 || w.bytes <= budget) {
      plan.mesh.shard = static_cast<int>(node);
      plan.choices.push_back(among_a_node(plan, node, w.bytes));
    } else {
      plan.choices.push_back("parallel.shard_ranks " + std::to_string(world) +
                             ", all: shards among the " + std::to_string(node) +
                             " ranks of one node would need " + human_bytes(w.bytes) + " of " +
                             human_bytes(budget));
    }
  }
  asked = {plan.mesh.shard};
}

}  // namespace trainx::plan
