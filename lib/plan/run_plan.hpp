// Everything that is decided before anything runs: a pure function of the recipe and the facts; no
// files, no clock, no device.
#pragma once
#include "kernels/step/loss_scale.hpp"
#include "facts/facts.hpp"
#include "plan/schedule.hpp"
#include "program/order.hpp"
#include "program/plain.hpp"
#include "program/time.hpp"
#include <cstdint>
#include <memory>

namespace trainx::plan {

/// global_batch_size [samples per optimizer step] = micro_batch_size [samples per forward, per
/// rank] * grad_accum_steps * world_size
struct BatchPlan {
  std::int64_t global_batch_size = 0, micro_batch_size = 0, grad_accum_steps = 0, world_size = 1;
};

/// A program with everything placed and ordered.
struct PlacedProgram {
  program::ModelGraph graph;
  program::StepProgram program;
  program::Placement placement;
  program::Order order;
  // in the program: fewer than run where plans leave out like ones
  int micro_steps = 1;
};

/// When something recurs: every so many steps, or seconds (0: not by that measure).
struct Interval {
  std::int64_t steps = 0;
  double seconds = 0;
};

/// Of checkpoint.every: auto.
constexpr double least_checkpoint_seconds = 30;

struct MemoryPlan {
  // weights, master, gradients, optimizer state, activations, ..., in bytes at the peak
  std::vector<std::pair<std::string, std::int64_t>> categories;
  std::int64_t arena_bytes = 0;    // one arena for training and evaluation
  std::int64_t library_bytes = 0;  // what library calls allocate beside it, at most
  // that programs keep on the host: pinned memory beside a GPU, on a CPU an arena of its own
  std::int64_t host_bytes = 0;
  // of those, by what they hold where the host is fullest
  std::vector<std::pair<std::string, std::int64_t>> on_host;
  std::int64_t disk_bytes = 0;  // that programs keep in a file
  // of a GPU's process with an optimizer or weights on the host, or whose checkpoints are written
  // beside training: weights as they are loaded, a checkpoint on its way to disk
  std::int64_t beside_host_bytes = 0;
  // on a CPU LibTorch itself, copies of a group while weights are loaded and saved, batches ahead;
  // on a GPU context and kernels
  std::int64_t process_bytes = 0;
  std::int64_t budget_bytes = 0;
  std::int64_t total_bytes() const { return arena_bytes + library_bytes + process_bytes; }
};

struct RunPlan {
  recipe::Recipe recipe;  // resolved: what was auto or unset is filled in
  architectures::ModelDims dims;
  BatchPlan batch;
  recipe::ParallelMode mode = recipe::ParallelMode::single;
  // programs hold all micro-steps; else long ones hold a few (micro_steps.hpp)
  bool every_micro_step = false;
  // whose programs these are: of dp rank 0's differ from the others', else all are equal
  int rank = 0;
  // of zero: among how many neighbouring ranks shards lie; more ranks are further groups, which
  // hold the same
  int shard_ranks = 1;
  // of zero3 (passes::ZeroOptions): how long gathered weights stay
  int turns_kept = 0;
  // where the optimizer is offloaded: of how many groups of parameters, the first and the last
  // ones, it is elsewhere than on the host
  int groups_on_device = 0, groups_on_disk = 0;
  DType compute = DType::f32;
  bool on_gpu = false;       // the arena is the device's, not the process's
  std::int64_t threads = 1;  // that compute with; what libraries allocate depends on it
  program::Master master = program::Master::absent;
  program::UpdateSpec update;
  kernels::LossScaleSettings loss_scale;  // of fp16
  std::int64_t total_steps = -1;          // -1: a duration in time
  double total_seconds = 0;               // of such a duration
  ScheduleSteps schedule;
  std::vector<double> lr_table;  // by applied step; the last entry holds beyond its end
  /// checkpoint_every: of auto, that it begins with.
  Interval checkpoint_every, eval_every, metrics_every, release_cache_every;
  Interval generate_every;  // of texts during training; neither steps nor seconds: none
  // without padding, where all samples have data.sequence_length
  std::int64_t tokens_per_step = 0;
  double nominal_targets = 0;  // expected of a global batch without padding
  // tokens of a sample with padding, ascending: a step takes the smallest that holds its longest
  // sample
  std::vector<std::int64_t> row_lengths;
  // one for each of row_lengths, all in one arena, residents at the same addresses; a replica of dp
  // evaluates nothing
  std::vector<PlacedProgram> train, evaluate;
  std::int64_t train_samples = 0;  // of an epoch
  // of an evaluation, however the batch is cut; 0: no held-out data
  std::int64_t eval_samples = 0;
  MemoryPlan memory;
  std::int64_t host_memory_bytes = 0;  // of the machine (cgroup); 0: not known
  // for this rank, in the folder of memory.optimizer_offload; nothing: not known
  std::optional<std::int64_t> disk_free_bytes;
  // of the device in the plan's arithmetic, where they were measured
  std::optional<program::Rates> rates;
  std::optional<program::TimePrediction> time;  // where rates of the device are known
  // of the time's prediction, where links were not measured: the vendor's; 0: left out
  double sheet_link_bytes_per_s = 0;
  // a second, of the chip in the plan's arithmetic; 0: not known
  double peak_flops = 0;
  double flops_per_token() const;  // of the model in a step: what is recomputed does not count
  int zero_stage() const { return recipe::zero_stage(mode); }  // 0: nothing lies in shards
  // each rank reads its part of each batch, and evaluates its part
  bool shares_batches() const { return mode == recipe::ParallelMode::ddp || zero_stage() > 0; }
  // checkpoints; until it is chosen they wait
  bool writes_beside_training() const {
    return recipe.checkpoint.asynchronous.value.value_or(false);
  }
  // keeps nothing from step to step
  bool is_replica() const { return mode == recipe::ParallelMode::dp && rank > 0; }
  // instructions of all programs planned so far, copies of the plan counted too
  std::shared_ptr<std::int64_t> searched = std::make_shared<std::int64_t>(0);
  // what trainx chose where the recipe leaves it to it: with the reason and what it costs
  std::vector<std::string> choices;
  std::vector<std::string> notes;  // e.g. a missing data file
};

struct PlanOptions {
  std::string gpu;  // plan for this device instead of the CPU: "h100", "h200"
  int rank = 0;     // of recipe.parallel.world_size ranks
  // the program is to be run: it holds all micro-steps, however many
  bool every_micro_step = false;
};

/// Whether the run would compute on a GPU of this machine. Throws UserError 78 where what it asks
/// for cannot be.
bool computes_on_gpu(const recipe::Recipe& recipe, const facts::HardwareFacts& hardware);

/// What a step copies to the host of activations.
std::int64_t offloaded_bytes(const program::StepProgram& p);
struct DiskCopies {
  std::int64_t from = 0, to = 0;
};
/// What a step copies for an optimizer on the host: gradients to it, weights back; and of what is
/// kept on the disk.
struct OptimizerCopies {
  std::int64_t gradients_out = 0, weights_back = 0;
  DiskCopies disk;
};
OptimizerCopies optimizer_copies(const program::StepProgram& p);
/// What a step copies of weights that lie on the host: to blocks and updates, and back from
/// updates; and of those on the disk.
struct ParameterCopies {
  std::int64_t in = 0, out = 0;
  DiskCopies disk;
};
ParameterCopies parameter_copies(const program::StepProgram& p);

/// Of the matrix products and the attention of one step, without what is recomputed.
double step_flops(const PlacedProgram& placed);

/// Throws UserError: 78 what the recipe asks for is not possible (batch arithmetic, dimensions), 71
/// it does not fit memory.budget (by how much, what would).
RunPlan make_run_plan(const recipe::Recipe& recipe, const facts::Facts& facts,
                      const PlanOptions& options = {});

/// For people and for --json.
std::string describe(const RunPlan& plan, bool with_program);
nlohmann::json to_json(const RunPlan& plan, bool with_program);
/// Hash of all that a worker does (program, placement, lr table): launcher and worker must agree.
std::string fingerprint(const RunPlan& plan);

}  // namespace trainx::plan
