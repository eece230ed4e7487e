#include "plan/choose/space.hpp"
#include "architectures/active_parameters.hpp"
#include "architectures/architecture.hpp"
#include "plan/choose/experts.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/fp8_layers.hpp"
#include "plan/limits.hpp"
#include "plan/precision.hpp"
#include <algorithm>

namespace trainx::plan {

using recipe::ParallelMode;

namespace {

bool is_of_own_modules(const Draft& plan) {
  return std::holds_alternative<architectures::CustomDims>(plan.dims);
}

/// Largest micro-batch that the worker measured modules of the user's own for.
std::int64_t most_measured(const Draft& plan) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  if (!custom) return most;
  for (const std::int64_t length : plan.row_lengths)
    for (const DType compute : {plan.compute, evaluation_dtype_of(plan.recipe)}) {
      std::int64_t largest = 0;
      for (const architectures::CustomShape& s : custom->shapes)
        if (s.length == length && s.compute == compute)
          largest = std::max(largest, s.micro_batch_size);
      most = std::min(most, largest);
    }
  return most;
}

std::vector<std::int64_t> micro_batch_sizes_of(const Draft& plan, Freedom freedom) {
  const auto& asked = plan.recipe.batch;
  const bool is_open = asked.micro_batch_size.is_auto() && !asked.grad_accum_steps;
  const std::int64_t samples = plan.batch.micro_batch_size * plan.batch.grad_accum_steps,
                     written = plan.batch.micro_batch_size;
  if (plan.recipe.optimizer.update_in_backward) return {is_open ? samples : written};
  if (!is_open && freedom == Freedom::unwritten) return {written};
  std::vector<std::int64_t> sizes = plannable_micro_batch_sizes(plan, samples);
  const std::int64_t most =
      std::min(most_measured(plan), is_open || freedom == Freedom::any ? samples : written);
  std::erase_if(sizes, [&](std::int64_t micro) { return micro > most; });
  if (sizes.empty()) require_plannable_micro_steps(plan, samples);
  if (sizes.empty()) sizes.push_back(written);
  return sizes;
}

/// The mode and its shards; ddp first, since nothing is gathered there.
std::vector<ModeOfShards> modes_of(const Draft& plan, Freedom freedom, std::int64_t local_ranks) {
  const auto& asked = plan.recipe.parallel;
  const int world = plan.mesh.row_ranks();  // ranks that may share shards
  std::vector<ModeOfShards> out;
  const std::int64_t node = ranks_of_a_node(plan, local_ranks);
  const auto add = [&](ParallelMode mode) {
    if (recipe::zero_stage(mode) == 0)
      out.push_back({mode, 1});
    else if (!asked.shard_ranks.is_auto() && freedom != Freedom::any)
      out.push_back({mode, static_cast<int>(*asked.shard_ranks.value)});
    else {  // within a node first: nothing is gathered between nodes
      if (node > 0 && program::Mesh::is_grid(static_cast<int>(node), plan.mesh.experts) &&
          program::Mesh::is_grid(static_cast<int>(node), plan.mesh.context))
        out.push_back({mode, static_cast<int>(node)});
      out.push_back({mode, world});
    }
  };
  const bool is_open = asked.mode.is_auto() ||
                       (freedom == Freedom::any && plan.mode != ParallelMode::dp);
  if (!is_open || plan.mode == ParallelMode::single || world == 1) {
    add(plan.mode);
    return out;
  }
  add(ParallelMode::ddp);
  if (!why_no_shards(plan).empty()) return out;
  for (const ParallelMode mode : {ParallelMode::zero1, ParallelMode::zero2, ParallelMode::zero3})
    if (plan.mesh.pipeline > 1 && mode != ParallelMode::zero1)
      break;  // stages have several micro-steps under way
    else if (!offloads_weights(plan) || mode == ParallelMode::zero3)
      add(mode);
  // what fits as it is preferred where times are not known: all modes of a node, then all ranks
  std::ranges::stable_sort(out, {}, [&](const ModeOfShards& m) {
    return m.mode != ParallelMode::ddp && node > 0 && m.shard != node;
  });
  return out;
}

/// Nothing first, weights last.
std::vector<OnHost> places_of(const Draft& plan, Freedom freedom) {
  std::vector<OnHost> places{{}};
  if (freedom == Freedom::unwritten || !plan.on_gpu) return places;
  const auto also = [&](bool may, bool OnHost::*what) {
    for (const OnHost& before : may ? std::vector(places) : std::vector<OnHost>{})
      places.emplace_back(before).*what = true;
  };
  // what modules of the user's own keep cannot be moved
  also(plan.recipe.memory.activation_offload == recipe::ActivationOffload::none &&
           !is_of_own_modules(plan),
       &OnHost::activations);
  also(may_update_on_host(plan), &OnHost::optimizer);
  also(
      !offloads_weights(plan) && plan.mode != ParallelMode::dp && plan.recipe.parallel.experts == 1,
      &OnHost::weights);
  return places;
}

std::vector<int> groups_on_device_of(const Draft& plan) {
  const auto& offload = plan.recipe.memory.optimizer_offload;
  if (!offloads_optimizer(plan) || !offload.share.is_auto()) return {plan.groups_on_device};
  // the time falls with the share, or rises: a few points show which
  constexpr int tries = 8;
  const int groups = trained_groups(plan);
  std::vector<int> out{0};
  for (int k = 1; k <= tries; ++k)
    if (groups * k / tries > out.back()) out.push_back(groups * k / tries);
  return out;
}

}  // namespace

std::int64_t ranks_of_a_node(const Draft& plan, std::int64_t local_ranks) {
  // those of a node that have a batch of their own
  const std::int64_t world = plan.mesh.row_ranks(), node = local_ranks / plan.mesh.tensor;
  return node > 1 && node < world && world % node == 0 && local_ranks % plan.mesh.tensor == 0 ? node
                                                                                              : 0;
}

std::string why_no_shards(const Draft& plan) {
  if (plan.recipe.optimizer.update_in_backward)
    return "updates in backward have no gradient left to shard";
  if (offloads_optimizer(plan) && plan.update.unit == program::Unit::tensor)
    return "updates on the host do not sum over the parts of a tensor";
  if (plan.recipe.generate.every) return "generate.every needs all weights on one rank";
  return "";
}

bool may_update_on_host(const Draft& plan) {
  const bool keeps_states = !plan.update.states.empty() || plan.master != program::Master::absent,
             parts_alone = plan.update.unit == program::Unit::tensor && plan.cuts_tensors();
  return plan.on_gpu &&
         plan.recipe.memory.optimizer_offload.where == recipe::OptimizerOffload::none &&
         keeps_states && !parts_alone;
}

Space space_of(const Draft& plan, Freedom freedom, std::int64_t local_ranks) {
  const recipe::MemorySection& memory = plan.recipe.memory;
  Space space;
  space.written = decisions_of(plan);
  space.modes = modes_of(plan, freedom, local_ranks);
  space.experts = expert_ranks_of(plan, freedom != Freedom::unwritten);
  std::erase_if(space.experts, [&](int experts) {
    return std::ranges::any_of(space.modes, [&](const ModeOfShards& mode) {
      return !program::Mesh::is_grid(mode.shard, experts);
    });
  });
  space.micro_batch_sizes = micro_batch_sizes_of(plan, freedom);
  const auto& level = memory.activation_checkpoint;
  const bool is_default = !level.is_auto() && *level.value == std::vector{RecomputeLevel::none};
  if (level.is_auto() || (is_default && freedom == Freedom::to_fit) || freedom == Freedom::any)
    space.depth = depth_of(plan);
  space.on_host = places_of(plan, freedom);
  space.groups_on_device = groups_on_device_of(plan);
  space.node_first = freedom == Freedom::unwritten;
  // by a data sheet alone nothing is kept: it takes memory for a time that was not measured
  space.keeps_weights = plan.knows_links;
  space.casts = fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::off;
  const std::int64_t tokens_that_fill = plan.on_gpu ? 65536 : 4096,
                     length = plan.row_lengths.back();
  space.samples_that_fill = (tokens_that_fill + length - 1) / length;
  return space;
}

}  // namespace trainx::plan
