#include "plan/choose/mode.hpp"
#include "plan/choose/layers_in_parts.hpp"
#include "plan/choose/offload.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include "core/error.hpp"

namespace trainx::plan {

using recipe::ParallelMode;

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

void require_shards_on_host(const Draft& plan) {
  if (!plan.cuts_tensors() || !offloads_optimizer(plan) ||
      plan.update.unit != program::Unit::tensor)
    return;
  const std::string optimizer = recipe::alternative_name(plan.recipe.optimizer.options);
  const bool in_shards = plan.zero_stage() > 0;
  std::string cut, without;  // what cuts tensors: settings, and keys but for the mode's
  const auto add = [](std::string& list, const std::string& one) {
    list += (list.empty() ? "" : " and ") + one;
  };
  if (in_shards) add(cut, "parallel.mode: " + recipe::write_value(plan.mode));
  for (const auto& [key, ranks] :
       {std::pair{"parallel.experts", plan.mesh.experts}, {"parallel.tensor", plan.mesh.tensor}}) {
    if (ranks == 1) continue;
    add(cut, std::string(key) + ": " + std::to_string(ranks));
    add(without, key);
  }
  throw UserError(
      ExitCode::invalid_recipe,
      "memory.optimizer_offload: " +
          recipe::write_value(plan.recipe.memory.optimizer_offload.where) + " and " + cut +
          " cannot go together with optimizer.type: " + optimizer +
          ", whose updates need sums over tensors of which a host has parts alone; write another "
          "optimizer, " +
          (!in_shards        ? "leave " + without + " out, "
           : without.empty() ? "parallel.mode: ddp, "
                             : "parallel.mode: ddp without " + without + ", ") +
          "or leave optimizer_offload out");
}

void set_mode(Draft& plan, ParallelMode mode) {
  plan.mode = mode;
  plan.mesh.shard = plan.zero_stage() > 0 ? plan.mesh.row_ranks() : 1;
}

void choose_mode(Draft& plan) {
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
  plan.mesh.world = static_cast<int>(world);
  share_layers(plan);
  set_mode(plan, plan.mode);
  if (world == 1) r.parallel.shard_ranks = {};  // one rank's shards are the whole
  if (const auto asked = r.parallel.shard_ranks.value; asked && plan.mesh.row_ranks() % *asked != 0)
    throw UserError(ExitCode::invalid_recipe,
                    "parallel.shard_ranks (" + std::to_string(*asked) +
                        ") must divide the number of ranks" +
                        (plan.mesh.tensor > 1 ? " with rows of their own" : "") + ", which is " +
                        std::to_string(plan.mesh.row_ranks()));
  r.parallel.world_size = {world};
}

}  // namespace trainx::plan
