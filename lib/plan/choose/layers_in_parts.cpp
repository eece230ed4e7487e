#include "plan/choose/layers_in_parts.hpp"
#include "architectures/architecture.hpp"
#include "core/error.hpp"
#include <utility>

namespace trainx::plan {
namespace {

[[noreturn]] void refuse_tensor(const Draft& plan, const std::string& why) {
  throw UserError(
      ExitCode::invalid_recipe,
      "parallel.tensor is " + std::to_string(*plan.recipe.parallel.tensor.value) + ", and " + why);
}

[[noreturn]] void refuse_context(const Draft& plan, const std::string& why) {
  throw UserError(ExitCode::invalid_recipe,
                  "parallel.context is " + std::to_string(*plan.recipe.parallel.context.value) +
                      ", and " + why);
}

std::string must_divide(const Draft& plan, std::int64_t sharing) {
  return "must divide the number of ranks, which is " + std::to_string(plan.mesh.world) +
         "; start a multiple of " + std::to_string(sharing) + ", or write another number";
}

void make_stages(Draft& plan) {
  const std::int64_t stages = *plan.recipe.parallel.pipeline.value, world = plan.mesh.world;
  if (stages == 1) return;
  const auto refuse = [&](const std::string& why) {
    throw UserError(ExitCode::invalid_recipe,
                    "parallel.pipeline is " + std::to_string(stages) + ", and " + why);
  };
  if (world % stages != 0) refuse(must_divide(plan, stages));
  plan.mesh.pipeline = static_cast<int>(stages);
  if (plan.zero_stage() > 0 && plan.mesh.stage_ranks() == 1)
    refuse(
        "all ranks share one batch, so that there are no others to share shards with; write "
        "parallel.mode: ddp");
}

void share_rows(Draft& plan) {
  const std::int64_t ranks = *plan.recipe.parallel.context.value, world = plan.mesh.row_ranks();
  if (ranks == 1) return;
  if (world % ranks != 0)
    refuse_context(plan, (plan.mesh.tensor > 1 ? "times parallel.tensor, which is " +
                                                     std::to_string(plan.mesh.tensor) + ", "
                                               : std::string()) +
                             must_divide(plan, ranks * plan.mesh.tensor));
  if (plan.mode == recipe::ParallelMode::dp)
    refuse_context(plan, "parallel.mode: dp hands out batches of whole rows; write ddp");
  const auto& parallel = plan.recipe.parallel;
  for (const auto& [others, key] :
       {std::pair{parallel.shard_ranks.value.value_or(world), "shard_ranks"},
        {parallel.experts, "experts"}})
    if (!program::Mesh::is_grid(static_cast<int>(ranks), static_cast<int>(others)))
      refuse_context(plan, std::string("parallel.") + key + " is " + std::to_string(others) +
                               ": one of both must divide the other");
  plan.mesh.context = static_cast<int>(ranks);
}

void share_parts(Draft& plan) {
  const std::int64_t ranks = *plan.recipe.parallel.tensor.value, world = plan.mesh.stage_ranks();
  if (ranks == 1) return;
  if (world % ranks != 0) refuse_tensor(plan, must_divide(plan, ranks));
  if (plan.mode == recipe::ParallelMode::dp)
    refuse_tensor(plan, "parallel.mode: dp keeps all weights on rank 0; write ddp");
  if (plan.zero_stage() > 0 && ranks == world)
    refuse_tensor(plan,
                  "all ranks share one batch, so that there are no others to share shards with; "
                  "write parallel.mode: ddp");
  plan.mesh.tensor = static_cast<int>(ranks);
}

}  // namespace

void share_layers(Draft& plan) {
  make_stages(plan);
  share_parts(plan);
  share_rows(plan);
}

std::string batches_factor(const Draft& plan) {
  std::string sharing;
  int keys = 0;
  for (const auto& [key, ranks] : {std::pair{"parallel.tensor", plan.mesh.tensor},
                                   {"parallel.context", plan.mesh.context},
                                   {"parallel.pipeline", plan.mesh.pipeline}})
    if (ranks > 1) sharing += (keys++ > 0 ? " * " : "") + std::string(key);
  return keys == 0   ? "world_size"
         : keys == 1 ? "world_size / " + sharing
                     : "world_size / (" + sharing + ")";
}

std::string shared_rows_words(const Draft& plan) {
  const int ranks = plan.mesh.context;
  if (ranks == 1) return "";
  return "parallel.context " + std::to_string(ranks) + ": each of " + std::to_string(ranks) +
         " neighbouring ranks computes 1/" + std::to_string(ranks) +
         " of the tokens of one batch, and in attention 1/" + std::to_string(ranks) +
         " of the heads of all its tokens";
}

std::string layers_in_parts_words(const Draft& plan) {
  const int ranks = plan.mesh.tensor;
  if (ranks == 1) return "";
  return "parallel.tensor " + std::to_string(ranks) + ": each of " + std::to_string(ranks) +
         " neighbouring ranks has 1/" + std::to_string(ranks) +
         " of the heads, the features and the vocabulary of each layer, and between layers 1/" +
         std::to_string(ranks) +
         (plan.mesh.context > 1 ? " of their tokens" : " of the tokens of one batch");
}

}  // namespace trainx::plan
