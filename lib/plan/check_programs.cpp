#include "plan/check_programs.hpp"
#include "core/error.hpp"
#include "plan/choose_offload.hpp"
#include "plan/memory_plan.hpp"
#include "program/check.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

// The check follows each shard to each rank, so that its time grows with the square of their number: beyond this many it is made of the program that fewer ranks would run, which differs in nothing but sizes.
constexpr std::int64_t most_shards = 8, few_shards = 4;

void require_sound(const std::vector<program::RankProgram>& ranks, const program::Reference* reference, const char* what) {
  const std::string problem = program::check_program(ranks, reference);
  if (!problem.empty()) throw InternalError(std::string("the ") + what + " program is not sound: " + problem);
}

// The ranks that differ, and one more of those that do not: what holds for them holds for any number.
std::vector<program::RankProgram> ranks_to_check(const std::vector<const PlacedProgram*>& roles, std::int64_t world_size) {
  const bool sharded = std::ranges::any_of(roles.front()->program.buffers, &program::Buffer::sharded);
  const std::int64_t enough = roles.size() > 1 || sharded ? world_size : 3;   // dp's rank 0 names all others; all shards together are one thing
  std::vector<program::RankProgram> ranks;
  for (std::int64_t r = 0; r < std::min(world_size, enough); ++r) {
    const PlacedProgram& role = *roles[std::min<std::size_t>(static_cast<std::size_t>(r), roles.size() - 1)];
    ranks.push_back({&role.program, &role.placement});
  }
  return ranks;
}

}  // namespace

void require_sound_programs(const RunPlan& plan) {
  RunPlan other;
  const bool two_roles = plan.mode == recipe::ParallelMode::dp;
  if (two_roles) {
    other = plan;
    other.rank = plan.rank == 0 ? 1 : 0;
    plan_programs(other);
  }
  const bool many_shards = plan.zero_stage() > 0 && plan.batch.world_size > most_shards;
  if (many_shards) {
    RunPlan few = plan;
    few.batch.world_size = few_shards;
    few.shard_ranks = static_cast<int>(plan.shard_ranks < plan.batch.world_size ? few_shards / 2 : few_shards);   // of groups two
    plan_programs(few);
    require_sound_programs(few);
  }
  for (std::size_t k = 0; k < plan.train.size(); ++k) {
    const PlacedProgram& train = plan.train[k];
    program::Reference reference{&train.graph, plan.update, static_cast<int>(plan.batch.grad_accum_steps)};
    reference.update_in_backward = plan.recipe.optimizer.update_in_backward;
    if (offloads_optimizer(plan) && rounds_gradients(plan))
      for (const passes::Keeper keeper : keepers_of(plan, train.graph.groups.size())) reference.rounded_gradients.push_back(keeper != passes::Keeper::device);
    std::vector<const PlacedProgram*> roles{&train};
    if (two_roles) roles.insert(plan.rank == 0 ? roles.end() : roles.begin(), &other.train[k]);
    require_sound(ranks_to_check(roles, plan.batch.world_size), many_shards ? nullptr : &reference, "training");   // without it what holds of bytes alone
  }
  for (const PlacedProgram& evaluate : plan.evaluate)
    require_sound(ranks_to_check({&evaluate}, two_roles ? 1 : plan.batch.world_size), nullptr, "evaluation");
}

}  // namespace trainx::plan
