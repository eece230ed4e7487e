#include "plan/check_programs.hpp"
#include "core/error.hpp"
#include "plan/choose/offload.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "program/check.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

// The check follows each shard to each rank, so that its time grows with the square of their
// number: beyond this many it is made of the program that fewer ranks would run, which differs in
// nothing but sizes.
constexpr int most_shards = 8, few_shards = 4;

// Layers are alike, and the check takes longer than all else: of a deep model it is made with
// fewer.
constexpr std::int64_t most_layers_checked = 200;

/// Of those.
std::int64_t few_layers(const Draft& plan) {
  const std::int64_t chunks = plan.mesh.pipeline * plan.recipe.parallel.pipeline_chunks,
                     together = plan.recipe.memory.recompute_segment;
  return std::min(layers_of(plan.dims), std::max<std::int64_t>(16, chunks * together));
}

void require_sound(const std::vector<program::RankProgram>& ranks,
                   const program::Reference* reference, const char* what) {
  const std::string problem = program::check_program(ranks, reference);
  if (!problem.empty())
    throw InternalError(std::string("the ") + what + " program is not sound: " + problem);
}

/// How many ranks suffice: where none is named and nothing is in parts, what holds for three holds
/// for any number.
int ranks_that_suffice(const std::vector<const PlacedProgram*>& roles) {
  constexpr int of_equals = 3;
  const program::Mesh& mesh = roles.front()->program.mesh;
  const auto needs_all = [](const PlacedProgram* role) {
    const program::StepProgram& p = role->program;
    return std::ranges::any_of(p.buffers, &program::Buffer::is_cut) ||
           std::ranges::any_of(
               p.steady, [](const program::Instruction& i) { return i.peer != program::none; });
  };
  const bool all = mesh.context > 1 || std::ranges::any_of(roles, needs_all);
  return all ? mesh.world : std::min(mesh.world, of_equals);
}

/// Of the programs of length `k`, training's or evaluation's, on the ranks that have them.
std::vector<program::RankProgram> ranks_to_check(const ProgramSet& set,
                                                 std::vector<PlacedProgram> Programs::*list,
                                                 std::size_t k) {
  std::vector<const PlacedProgram*> roles;
  for (const RankRole& role : set.roles)
    if (const auto& programs = role.*list; k < programs.size()) roles.push_back(&programs[k]);
  std::vector<program::RankProgram> ranks;
  for (int r = 0; r < ranks_that_suffice(roles); ++r)
    if (const auto& programs = set.of(r).*list; k < programs.size())
      ranks.push_back({&programs[k].program, &programs[k].placement});
  return ranks;
}

}  // namespace

namespace {

/// The same run with fewer layers: the first and the last, each recomputed as in the plan.
Draft with_layers(Draft plan, std::int64_t layers) {
  const std::int64_t all = layers_of(plan.dims);
  std::visit(
      [layers](auto& d) {
        if constexpr (requires { d.num_decoder_layers; })
          d.num_layers = layers / 2, d.num_decoder_layers = layers - layers / 2;
        else if constexpr (requires { d.num_layers; })
          d.num_layers = layers;
      },
      plan.dims);
  auto& levels = *plan.recipe.memory.activation_checkpoint.value;
  if (levels.size() > 1)
    levels.erase(levels.begin() + layers / 2, levels.end() - (layers - layers / 2));
  plan.groups_on_device = static_cast<int>(plan.groups_on_device * layers / all);
  plan.groups_on_disk = static_cast<int>(plan.groups_on_disk * layers / all);
  return plan;
}

/// Of a layer, and of rows, where they are cut by fewer ranks.
int fewest_parts(const Draft& plan) {
  const bool both = plan.mesh.tensor > 1 && plan.mesh.context > 1;
  return plan.mesh.batches() == 1 && !both ? few_shards : 2;
}

/// Of a pipeline, as many as go with the number of micro-steps.
int few_stages(const Draft& plan, int stages) {
  return plan.recipe.parallel.pipeline_chunks == 1 || stages % 2 == 0 ? 2 : stages;
}

/// The same run on fewer ranks, which share shards and experts in groups where the plan's do.
Draft among_few_ranks(Draft plan) {
  const auto several = [&plan](program::AxisSet along) {
    return plan.mesh.size(along) > 1 && plan.mesh.size(along) < plan.mesh.world;
  };
  const bool shard_groups = several(program::axes::shard),
             expert_groups = several(program::axes::expert);
  const int shared = fewest_parts(plan);
  const bool one_batch = plan.mesh.batches() == 1;
  const program::Mesh all = plan.mesh;
  plan.mesh.pipeline = 1;
  if (plan.mesh.tensor > 1) plan.mesh.tensor = shared;
  if (plan.mesh.context > 1) plan.mesh.context = shared;
  plan.mesh.world = one_batch ? few_shards
                              : std::max(few_shards, 2 * plan.mesh.tensor * plan.mesh.context);
  if (all.experts > 1)
    plan.mesh.experts = all.experts % few_shards == 0 && !expert_groups ? few_shards : 2;
  if (all.experts > 1 && all.context > 1) {
    // more ranks share experts than a batch, or fewer, as in the plan
    if (!one_batch) plan.mesh.context = all.experts < all.context ? few_shards : 2;
    plan.mesh.experts = all.experts == all.context  ? plan.mesh.context
                        : all.experts < all.context ? 2
                                                    : few_shards;
    const int sharing = std::max(plan.mesh.experts, plan.mesh.context);
    plan.mesh.world = one_batch || all.experts == all.world ? sharing : 2 * sharing;
  }
  if (plan.zero_stage() > 0)
    plan.mesh.shard = shard_groups && plan.mesh.tensor == 1 ? few_shards / 2  // of groups two
                                                            : plan.mesh.row_ranks();
  if (all.pipeline > 1) {
    if (all.stage_ranks() == 1) plan.mesh.world = 1;
    plan.mesh.pipeline = few_stages(plan, all.pipeline);
    plan.mesh.world *= plan.mesh.pipeline;
  }
  return plan;
}

}  // namespace

void require_sound_programs(const Draft& plan, const ProgramSet& set) {
  const bool deep = layers_of(plan.dims) > most_layers_checked &&
                    !std::holds_alternative<architectures::CustomDims>(plan.dims);
  if (deep) {
    const Draft few = with_layers(plan, few_layers(plan));
    require_sound_programs(few, plan_program_set(few));
  }
  const int least = fewest_parts(plan);
  const bool halves = (plan.mesh.experts == 1 || plan.mesh.experts % 2 == 0) &&
                      (plan.mesh.context == 1 || plan.mesh.context % least == 0) &&
                      (plan.mesh.tensor == 1 || plan.mesh.tensor % least == 0) &&
                      (plan.mesh.experts == 1 || plan.mesh.context == 1 ||
                       plan.mesh.experts == plan.mesh.context ||
                       std::max(plan.mesh.experts, plan.mesh.context) % few_shards == 0);
  const bool many_shards = (plan.in_parts() || plan.shares_layers()) && halves &&
                           plan.mesh.world > most_shards;
  if (many_shards && !deep) {
    const Draft few = among_few_ranks(plan);
    require_sound_programs(few, plan_program_set(few));
  }
  const Programs& first = set.roles.front();
  for (std::size_t k = 0; k < first.train.size(); ++k) {
    const PlacedProgram& train = first.train[k];
    program::Reference reference{&train.graph, plan.update, train.micro_steps};
    reference.update_in_backward = plan.recipe.optimizer.update_in_backward;
    if (offloads_optimizer(plan) && rounds_gradients(plan))
      for (const passes::OptimizerLocation location : optimizer_locations(plan, train.graph.groups))
        reference.rounded_gradients.push_back(location != passes::OptimizerLocation::device);
    // without it what holds of bytes alone
    require_sound(ranks_to_check(set, &Programs::train, k),
                  many_shards || deep ? nullptr : &reference, "training");
  }
  for (std::size_t k = 0; k < first.evaluate.size(); ++k)
    require_sound(ranks_to_check(set, &Programs::evaluate, k), nullptr, "evaluation");
}

}  // namespace trainx::plan
