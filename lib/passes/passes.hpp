// All passes and their one canonical order. Each is a pure function StepProgram -> StepProgram in a
// file of its own; it edits only `steady`, as one step in legal sequential order, and
// frozen_weight_offload `once`. Another order of passes throws InternalError.
#pragma once
#include "core/recompute_level.hpp"
#include "program/pipeline_cut.hpp"
#include "program/plain.hpp"
#include <cstdint>

namespace trainx::passes {

using program::ModelGraph;
using program::StepProgram;

/// Repeats forward..backward for each of `micro_steps`; who overwrites and who accumulates follows
/// from the order of writers.
StepProgram accumulation(StepProgram p, int micro_steps);

struct RecomputeLevels {
  std::vector<RecomputeLevel> of_layer;  // one for each, or one for all
  // so many neighbouring layers at `full` keep one hidden together, and are recomputed together
  int segment = 1;
  // NOLINT(google-explicit-constructor): a level is meant for all layers
  RecomputeLevels(RecomputeLevel all) : of_layer{all} {}
  RecomputeLevels(std::vector<RecomputeLevel> levels, int layers_together)
      : of_layer(std::move(levels)), segment(layers_together) {}
  RecomputeLevel of(int layer) const {
    return of_layer.size() == 1 ? of_layer.front() : of_layer.at(static_cast<std::size_t>(layer));
  }
};
/// What is dropped becomes scratch of the forward; what the recomputation takes follows from
/// SlotSpec::from.
StepProgram activation_recomputation(StepProgram p, const ModelGraph& graph,
                                     const RecomputeLevels& levels);

/// Weights that blocks cast (Role::cast_weight) are cast once a step: the first forward of a block
/// makes the copies, which live to the last use in any micro-step, and all later ones read them.
/// What no other instruction reads becomes scratch. Weights do not change within the step. Copies
/// that are made once a run stay.
StepProgram casts_of_weights(StepProgram p);

/// The program of one stage of a pipeline (Huang et al. 2019, arXiv:1811.06965): its chunks of
/// layers for each micro-step, in the order of the schedule; values between chunks are sent to the
/// stage that reads them, their gradients back. A group that several stages keep has one gradient,
/// the sum of theirs. Norm, losses and what else blocks add up are summed over stages. Also of a
/// program that only evaluates, made from the residents of the same plain program. Residents stay
/// in their order.
StepProgram pipeline(StepProgram p, const ModelGraph& graph, const program::Mesh& mesh,
                     const program::PipelineCut& cut, int stage);

/// What stays from forward to backward for longer than its neighbours take is copied to the host
/// after its last use in forward, beside the next block, and comes back, into a buffer of its own,
/// one block before its first use in backward.
StepProgram activation_offload(StepProgram p);

/// Ranks that share layers have parts of them: of groups that are in parts (GroupSpec::parts) each
/// keeps its own, with its gradients and states. Blocks that exchange values between ranks
/// (BlockSpec::exchange) become collectives. A value that a block of experts makes or reads in
/// another state than others do (SlotSpec::state) is exchanged: each rank gets the slot that each
/// of the others has for it. Parts of the norm are summed. The pass that sums gradients sums those
/// of parts over the ranks that have the same. Also of a program that only evaluates, made from the
/// residents of the same plain program.
StepProgram redistribute(StepProgram p, const ModelGraph& graph, const program::UpdateSpec& update,
                         const program::Mesh& mesh);

struct ReduceOptions {
  program::Mesh mesh;
  program::Bytes bucket_bytes = 0;  // of gradients that are summed together; 0: each by itself
};
/// Each rank has the model and a part of the batch: gradients, and the scalars that blocks add up,
/// are summed over ranks once they are complete, beside the rest of backward.
StepProgram distributed_data_parallel(StepProgram p, const ReduceOptions& how);

/// Rank 0 alone has weights and states. Five exchanges: batches out, weights out, the scale of the
/// loss (what the outputs' gradients begin with) out, sums of the outputs' losses in, gradients in.
/// That seed follows from no output, since losses are divided by their number in the update: so it
/// is sent first, and nobody waits. The program of rank 0, or that of any other.
StepProgram data_parallel(StepProgram p, const ReduceOptions& how, int rank);

/// ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054): each rank keeps one of mesh.shard shards of
/// weights, exact weights and states (shards.hpp; the graph's groups are divisible), updates it,
/// and gathers weights from all before blocks use them. Stage 1: a step's gradients are summed on
/// each rank and scattered when they are complete, weights are gathered once a step. Stage 2: each
/// micro-step's gradients are scattered at once and added up in the shard. Stage 3: besides,
/// weights are gathered one block ahead of each use and given up behind it, unless the next use is
/// near. Where there are more ranks than shards, groups of neighbours hold the same, and sum the
/// gradients of their shards.
struct ZeroOptions {
  int stage = 1;
  // stage 3: weights stay until their next use where that is no more turns (blocks' work,
  // turns.hpp) away; neighbours' always do
  int turns_kept = 0;
};
/// Also of a program that only evaluates, made from the residents of the same plain program.
StepProgram zero(StepProgram p, const ModelGraph& graph, const program::UpdateSpec& update,
                 const ReduceOptions& how, const ZeroOptions& options);

/// Each group is updated, and its part of the norm summed, right behind the last instruction that
/// writes its gradient or uses its parameters, so that gradients die early. An update's norm2 then
/// holds the gradients so far. Parts of the norm, and sums over whole tensors, are summed over
/// ranks before each update that needs them.
StepProgram update_in_backward(StepProgram p);

/// States and exact weights lie on the host, and so do the weights that updates write: each
/// gradient is copied there once it is complete, the host updates, and the weights that blocks read
/// are copied back. The norm is summed of each gradient as it goes, so that it need not wait for
/// the others. Also of a program that only evaluates, made from the residents of the same plain
/// program. Of groups whose states and exact weights are kept on a disk, they are read from there
/// ahead of the update and written back behind it.
enum class OptimizerLocation : std::uint8_t { device, host, disk };
struct OptimizerOffloadOptions {
  // of each group's states and exact weights; the device's groups are updated there. Empty: the
  // host keeps all
  std::vector<OptimizerLocation> locations = {};
  // how many groups ahead of updates what is on the disk is read
  int read_ahead = 1;
  // gradients leave as bf16; the norm is that of the exact ones
  bool rounded = false;
};
StepProgram optimizer_offload(StepProgram p, const OptimizerOffloadOptions& how = {});

/// Weights lie on the host: they are copied into buffers of the device one block ahead of each use
/// and given up behind it, unless the next use is near. An update on the device copies its group's
/// in one group ahead, and out behind it; one on the host leaves them where they are. Also of a
/// program that only evaluates. On a disk they are read into buffers on the host ahead of what
/// needs them there, a copy to the device or an update on the host, and what updates write is
/// written back.
struct ParameterOffloadOptions {
  bool on_disk = false;
  // how many turns (of blocks, or updates) ahead of what needs them on the host weights on the disk
  // are read
  int read_ahead = 1;
  // by group: weights that stay on the device; empty: none
  std::vector<bool> stay = {};
};
StepProgram parameter_offload(StepProgram p, const ParameterOffloadOptions& how = {});

/// Collectives move or sum elements of one type: where ranks exchange gradients in another type
/// than they are kept in, and where a scatter adds to what is there, this writes casts and
/// additions of their own, in the collective's lane.
StepProgram lower_collectives(StepProgram p, DType gradients);

/// Weights that are cast once a run and that no step reads lie on the host. StepProgram::once
/// copies each group to the device ahead of its first cast; behind the last one the bytes are free
/// for what steps make. Also of a program that only evaluates. The last pass; a program without
/// such weights stays as it is.
StepProgram frozen_weight_offload(StepProgram p);

}  // namespace trainx::passes
