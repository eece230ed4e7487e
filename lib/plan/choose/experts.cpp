#include "plan/choose/experts.hpp"
#include "architectures/active_parameters.hpp"
#include "architectures/architecture.hpp"
#include "core/error.hpp"
#include "plan/programs.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {
namespace {

[[noreturn]] void refuse(const Draft& plan, const std::string& why) {
  throw UserError(
      ExitCode::invalid_recipe,
      "parallel.experts is " + std::to_string(plan.recipe.parallel.experts) + ", and " + why);
}

/// The check of programs tells pieces apart by bytes: the smallest buffer of experts, the first
/// rows of one rank's, needs a byte for each.
constexpr std::int64_t bytes_of_row_number = 4;

/// Tokens that choose an expert of one rank, on average, if all experts are as likely.
std::int64_t tokens_of_a_rank(std::int64_t tokens, std::int64_t per_token, std::int64_t experts,
                              std::int64_t ranks) {
  double chose_none = 1;
  for (std::int64_t i = 0; i < per_token; ++i)
    chose_none *= static_cast<double>(std::max<std::int64_t>(0, experts - experts / ranks - i)) /
                  static_cast<double>(experts - i);
  return std::llround(static_cast<double>(tokens) * (1 - chose_none));
}

}  // namespace

void share_experts(Draft& plan) {
  const std::int64_t ranks = plan.recipe.parallel.experts, world = plan.mesh.world;
  if (ranks == 1) return;
  const std::int64_t experts = architectures::experts_of(plan.dims);
  if (experts == 0) refuse(plan, "the model has no experts; leave it out");
  if (architectures::capacity_factor(plan.dims) > 0)
    refuse(plan,
           "ranks that share experts have no capacity for each of them; write "
           "model.options.capacity_factor: 0 (parallel.experts_capacity bounds the rows of a "
           "rank), or leave parallel.experts out");
  if (world % ranks != 0)
    refuse(plan, "must divide the number of ranks, which is " + std::to_string(world));
  if (const auto shards = plan.recipe.parallel.shard_ranks.value;
      shards && plan.zero_stage() > 0 &&
      !program::Mesh::is_grid(static_cast<int>(*shards), static_cast<int>(ranks)))
    refuse(plan, "must divide parallel.shard_ranks, which is " + std::to_string(*shards) +
                     ", or be a multiple of it");
  if (experts % ranks != 0)
    refuse(plan,
           "must divide the experts of a layer, of which there are " + std::to_string(experts));
  if (bytes_of_row_number * (experts / ranks + 1) < ranks)
    refuse(plan, "so many ranks would have " + std::to_string(experts / ranks) +
                     " experts each; write a smaller number");
  plan.mesh.experts = static_cast<int>(ranks);
}

std::vector<int> expert_ranks_of(const Draft& plan, bool free) {
  std::vector<int> out{plan.mesh.experts};
  const std::int64_t experts = architectures::experts_of(plan.dims), world = plan.mesh.world;
  const recipe::Recipe& r = plan.recipe;
  const bool may = free && experts > 0 && plan.mesh.experts == 1 && plan.shares_batches() &&
                   architectures::capacity_factor(plan.dims) <= 0 && !r.generate.every &&
                   plan.mesh.tensor == 1 && plan.mesh.context == 1;  // as a recipe's rules have it
  if (!may) return out;
  for (std::int64_t ranks = 2; ranks <= std::min(world, experts); ++ranks)
    if (world % ranks == 0 && experts % ranks == 0 &&
        bytes_of_row_number * (experts / ranks + 1) >= ranks)
      out.push_back(static_cast<int>(ranks));
  return out;
}

std::string shared_experts_words(const Draft& plan) {
  if (plan.mesh.experts == 1) return "";
  const std::int64_t experts = architectures::experts_of(plan.dims),
                     per_token = architectures::experts_per_token(plan.dims);
  const std::int64_t tokens = plan.batch.micro_batch_size * plan.row_lengths.back(),
                     ranks = plan.mesh.experts;
  const graph::ExpertSharing sharing = graph_options_of(plan).passes.sharing;
  const std::int64_t choices = sharing.choices(tokens, per_token, experts),
                     any = graph::ExpertSharing{.ranks = ranks}.choices(tokens, per_token, experts);
  return "parallel.experts " + std::to_string(ranks) + ": each of " + std::to_string(ranks) +
         " neighbouring ranks has " + std::to_string(experts / ranks) + " of the " +
         std::to_string(experts) + " experts of a layer; each sends each other one " +
         std::to_string(sharing.rows(tokens, per_token, experts)) + " rows of a micro-batch, " +
         (choices == any ? "room for any choice"
                         : std::to_string(choices) +
                               " choices of its experts, the room of parallel.experts_capacity") +
         ", and would fill about " +
         std::to_string(tokens_of_a_rank(tokens, per_token, experts, ranks)) +
         " if tokens chose experts at random";
}

}  // namespace trainx::plan
