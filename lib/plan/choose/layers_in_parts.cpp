#include "plan/choose/layers_in_parts.hpp"
#include "architectures/architecture.hpp"
#include "core/error.hpp"
#include "recipe/walk.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

[[noreturn]] void refuse_tensor(const Draft& plan, const std::string& why) {
  throw UserError(
      ExitCode::invalid_recipe,
      "parallel.tensor is " + std::to_string(plan.recipe.parallel.tensor) + ", and " + why);
}

}  // namespace

void share_layers(Draft& plan) {
  const std::int64_t ranks = plan.recipe.parallel.tensor, world = plan.mesh.world;
  if (ranks == 1) return;
  if (world % ranks != 0)
    refuse_tensor(plan, "must divide the number of ranks, which is " + std::to_string(world));
  if (plan.mode == recipe::ParallelMode::dp)
    refuse_tensor(plan, "parallel.mode: dp keeps all weights on rank 0; write ddp");
  if (plan.zero_stage() > 0 && ranks == world)
    refuse_tensor(plan,
                  "all ranks share one batch, so that there are no others to share shards with; "
                  "write parallel.mode: ddp");
  plan.mesh.tensor = static_cast<int>(ranks);
}

void require_layers_in_parts(const Draft& plan) {
  if (plan.mesh.tensor == 1) return;
  if (std::ranges::any_of(plan.update.states,
                          [](const auto& state) { return static_cast<bool>(state.dims); }))
    refuse_tensor(plan,
                  "optimizer.type: " + recipe::alternative_name(plan.recipe.optimizer.options) +
                      " has states of whole tensors; write another optimizer");
  if (architectures::experts_of(plan.dims) > 0)
    refuse_tensor(plan,
                  "the model has experts, whose layers ranks cannot have parts of; leave it out "
                  "(parallel.experts shares experts)");
}

std::string batches_factor(const Draft& plan) {
  return plan.mesh.tensor == 1 ? "world_size" : "world_size / parallel.tensor";
}

std::string layers_in_parts_words(const Draft& plan) {
  const int ranks = plan.mesh.tensor;
  if (ranks == 1) return "";
  return "parallel.tensor " + std::to_string(ranks) + ": each of " + std::to_string(ranks) +
         " neighbouring ranks has 1/" + std::to_string(ranks) +
         " of the heads, the features and the vocabulary of each layer, and between layers 1/" +
         std::to_string(ranks) + " of the tokens of one batch";
}

}  // namespace trainx::plan
