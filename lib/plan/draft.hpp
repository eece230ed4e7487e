// A plan in the making: the recipe, what follows from it and the facts, and what was decided.
#pragma once
#include "kernels/step/loss_scale.hpp"
#include "facts/facts.hpp"
#include "plan/adapter_plan.hpp"
#include "program/plain.hpp"
#include "program/time.hpp"
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace trainx::plan {

/// global_batch_size [samples per optimizer step] = micro_batch_size [samples per forward, per
/// rank] * grad_accum_steps * mesh.batches()
struct BatchPlan {
  std::int64_t global_batch_size = 0, micro_batch_size = 0, grad_accum_steps = 0;
};

/// What is told of decisions.
struct Explanation {
  // what trainx chose where the recipe leaves it to it: with the reason and what it costs
  std::vector<std::string> choices;
  std::vector<std::string> notes;  // e.g. a missing data file
};

/// All that programs follow from. Nothing of it is a program, a file or a device. What a search
/// varies of it is a value of its own: Decisions.
struct Draft : Explanation {
  recipe::Recipe recipe;  // resolved: what was auto or unset is filled in
  architectures::ModelDims dims;
  std::optional<AdapterPlan> adapter;  // what is trained instead of the model's own weights
  BatchPlan batch;
  program::Mesh mesh;
  recipe::ParallelMode mode = recipe::ParallelMode::single;
  // programs hold all micro-steps; else long ones hold a few (micro_steps.hpp)
  bool every_micro_step = false;
  // programs hold as few as tell what a step takes: those of a search
  bool fewest_micro_steps = false;
  // of zero3 (passes::ZeroOptions): how long gathered weights stay
  int turns_kept = 0;
  // where the optimizer is offloaded: of how many groups of parameters, the first and the last
  // ones, it is elsewhere than on the host
  int groups_on_device = 0, groups_on_disk = 0;
  DType compute = DType::f32;
  bool on_gpu = false;           // the arena is the device's, not the process's
  std::int64_t local_ranks = 1;  // of the run, on this host
  int compute_capability = 0;    // of the GPU, 90: 9.0; 0: not known
  std::int64_t threads = 1;      // that compute with; what libraries allocate depends on it
  // products that no longer have operands in fp8 (recipe.precision.fallback), by names of weights
  std::set<std::string> fp8_fallback;
  bool casts_weights_once = true;  // to fp8, once a step (weight_casts.hpp)
  std::int64_t budget_bytes = 0;   // that a rank may use; 0: not known
  program::Master master = program::Master::absent;
  program::UpdateSpec update;
  std::optional<facts::OwnRuleFacts> own_rule;  // of an optimizer of the user's own
  kernels::LossScaleSettings loss_scale;        // of fp16
  // without padding, where all samples have data.sequence_length
  std::int64_t tokens_per_step = 0;
  double nominal_targets = 0;  // expected of a global batch without padding
  // tokens of a sample with padding, ascending: a step takes the smallest that holds its longest
  // sample
  std::vector<std::int64_t> row_lengths;
  /// seq2seq: tokens of a target beside each of those; else empty.
  std::vector<std::int64_t> target_lengths() const {
    std::vector<std::int64_t> out;
    if (architectures::target_shift(dims))
      for (const std::int64_t length : row_lengths)
        out.push_back(architectures::target_length(dims, length));
    return out;
  }
  std::int64_t train_samples = 0;  // of an epoch
  // of an evaluation, however the batch is cut; 0: no held-out data
  std::int64_t eval_samples = 0;
  std::int64_t host_memory_bytes = 0;  // of the machine (cgroup); 0: not known
  bool knows_links = false;            // between ranks, by trainx doctor
  // for this rank, in the folder of memory.optimizer_offload; nothing: not known
  std::optional<std::int64_t> disk_free_bytes;
  // of the device in the plan's arithmetic, where they were measured
  std::optional<program::Rates> rates;
  int zero_stage() const { return recipe::zero_stage(mode); }  // 0: nothing lies in shards
  // no rank computes a layer alone: some share its experts, its rows, or have parts of it
  bool shares_layers() const { return mesh.experts > 1 || mesh.context > 1 || mesh.tensor > 1; }
  // no rank has all of a tensor: it lies in shards, or ranks share its layer
  bool cuts_tensors() const { return zero_stage() > 0 || mesh.experts > 1 || mesh.tensor > 1; }
  // no rank has all weights: of tensors a part, or some layers
  bool in_parts() const { return cuts_tensors() || mesh.pipeline > 1; }
  // each rank reads its part of each batch, and evaluates its part
  bool shares_batches() const { return mode == recipe::ParallelMode::ddp || zero_stage() > 0; }
  // checkpoints; until it is chosen they wait
  bool writes_beside_training() const {
    return recipe.checkpoint.asynchronous.value.value_or(false);
  }
};

}  // namespace trainx::plan
