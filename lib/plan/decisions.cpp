#include "plan/decisions.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::plan {

Decisions decisions_of(const Draft& plan) {
  const recipe::MemorySection& memory = plan.recipe.memory;
  Decisions c;
  c.mode = plan.mode;
  c.shard = plan.mesh.shard;
  c.experts = plan.mesh.experts;
  c.tensor = plan.mesh.tensor;
  c.context = plan.mesh.context;
  c.pipeline = plan.mesh.pipeline;
  c.micro_batch_size = plan.batch.micro_batch_size;
  if (!memory.activation_checkpoint.is_auto()) c.levels = *memory.activation_checkpoint.value;
  c.segment = memory.recompute_segment;
  c.activations = memory.activation_offload;
  c.optimizer = memory.optimizer_offload.where;
  c.weights = memory.parameter_offload;
  c.groups_on_device = plan.groups_on_device;
  c.groups_on_disk = plan.groups_on_disk;
  c.turns_kept = plan.turns_kept;
  c.casts_weights_once = plan.casts_weights_once;
  return c;
}

void apply(const Decisions& choice, Draft& plan) {
  // of a rank, whose number depends on the ranks that share a batch
  std::int64_t samples = plan.batch.micro_batch_size * plan.batch.grad_accum_steps *
                         plan.mesh.batches();
  plan.mesh.tensor = choice.tensor;
  plan.mesh.context = choice.context;
  plan.mesh.pipeline = choice.pipeline;
  samples /= plan.mesh.batches();
  recipe::MemorySection& memory = plan.recipe.memory;
  plan.mode = choice.mode;
  plan.mesh.shard = choice.shard;
  plan.mesh.experts = choice.experts;
  plan.batch.micro_batch_size = choice.micro_batch_size;
  plan.batch.grad_accum_steps = samples / choice.micro_batch_size;
  memory.activation_checkpoint.value = choice.levels;
  memory.recompute_segment = choice.segment;
  memory.activation_offload = choice.activations;
  memory.optimizer_offload.where = choice.optimizer;
  memory.parameter_offload = choice.weights;
  plan.groups_on_device = choice.groups_on_device;
  plan.groups_on_disk = choice.groups_on_disk;
  plan.turns_kept = choice.turns_kept;
  plan.casts_weights_once = choice.casts_weights_once;
}

Draft applied(Draft plan, const Decisions& choice) {
  apply(choice, plan);
  return plan;
}

namespace {

std::string words_of(const std::vector<RecomputeLevel>& levels) {
  const auto rest = std::ranges::find_if(levels, [&](RecomputeLevel l) { return l != levels[0]; });
  const bool two = rest != levels.end() && std::all_of(rest, levels.end(), [&](RecomputeLevel l) {
                     return l == levels.back();
                   });
  if (!two) return recipe::write_value(levels);
  return recipe::write_value(levels.front()) + " in " + std::to_string(rest - levels.begin()) +
         " of " + std::to_string(levels.size()) + " layers, " + recipe::write_value(levels.back()) +
         " in the rest";
}

}  // namespace

std::vector<std::string> changed_keys(const Decisions& choice, const Decisions& from) {
  std::vector<std::string> out;
  const auto add = [&](const char* key, const auto& now, const auto& before) {
    if (now != before) out.push_back(std::string(key) + " " + recipe::write_value(now));
  };
  add("parallel.mode", choice.mode, from.mode);
  if (choice.shard != from.shard && choice.mode == from.mode)
    out.push_back("parallel.shard_ranks " + std::to_string(choice.shard));
  if (choice.experts != from.experts)
    out.push_back("parallel.experts " + std::to_string(choice.experts));
  if (choice.tensor != from.tensor)
    out.push_back("parallel.tensor " + std::to_string(choice.tensor));
  if (choice.context != from.context)
    out.push_back("parallel.context " + std::to_string(choice.context));
  if (choice.pipeline != from.pipeline)
    out.push_back("parallel.pipeline " + std::to_string(choice.pipeline));
  if (choice.micro_batch_size != from.micro_batch_size)
    out.push_back("batch.micro_batch_size " + std::to_string(choice.micro_batch_size));
  add("memory.activation_checkpoint", choice.levels, from.levels);
  if (choice.segment != from.segment)
    out.push_back("memory.recompute_segment " + std::to_string(choice.segment));
  add("memory.activation_offload", choice.activations, from.activations);
  add("memory.optimizer_offload", choice.optimizer, from.optimizer);
  add("memory.parameter_offload", choice.weights, from.weights);
  return out;
}

std::string changes_of(const Decisions& choice, const Decisions& from, std::string_view between) {
  const std::string recomputed = "memory.activation_checkpoint ";
  std::string text;
  for (const std::string& change : changed_keys(choice, from)) {
    if (!text.empty()) text += between;
    text += change.starts_with(recomputed) ? recomputed + words_of(choice.levels) : change;
  }
  return text;
}

}  // namespace trainx::plan
