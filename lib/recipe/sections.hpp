// The recipe on one page: what a user may write, with defaults. Read, dumped and documented through
// visit_fields.
#pragma once
#include "core/pipeline_schedule.hpp"
#include "core/recompute_level.hpp"
#include "recipe/all_or.hpp"
#include "options/model/adapter.hpp"
#include "options/model/attention.hpp"
#include "options/model/options.hpp"
#include "options/data/options.hpp"
#include "options/optim/options.hpp"
#include "options/schedule/options.hpp"
#include <cstdint>

namespace trainx {

inline const options::EnumNames<RecomputeLevel>& enum_names(RecomputeLevel) {
  static const options::EnumNames<RecomputeLevel> names{{RecomputeLevel::none, "none"},
                                                        {RecomputeLevel::selective, "selective"},
                                                        {RecomputeLevel::mlp, "mlp"},
                                                        {RecomputeLevel::full, "full"}};
  return names;
}

}  // namespace trainx

namespace trainx::recipe {

using options::anything, options::at_least, options::Auto, options::between, options::EnumNames,
    options::fraction, options::non_negative, options::positive, options::unit_interval;

enum class DeviceKind : std::uint8_t { cpu, gpu };
inline const EnumNames<DeviceKind>& enum_names(DeviceKind) {
  static const EnumNames<DeviceKind> names{{DeviceKind::cpu, "cpu"}, {DeviceKind::gpu, "gpu"}};
  return names;
}
enum class Execution : std::uint8_t { graph, eager };
inline const EnumNames<Execution>& enum_names(Execution) {
  static const EnumNames<Execution> names{{Execution::graph, "graph"}, {Execution::eager, "eager"}};
  return names;
}
struct RunSection {
  std::string name;  // default: the recipe's file name without .yaml
  std::int64_t seed = 42;
  Duration duration{1000, Duration::Unit::steps};
  std::string output_dir = "outputs";
  bool deterministic = false;
  Auto<DeviceKind> device;
  Auto<Execution> execution;
  Duration hang_limit{60, Duration::Unit::seconds};
};
template <class Visitor>
void visit_fields(Visitor& field, RunSection& s) {
  field("name", s.name, anything(), "Name of the run's folder; default: the recipe's file name");
  field("seed", s.seed, non_negative(),
        "Seed for initial weights, data order, dropout and stochastic rounding");
  field("duration", s.duration, anything(),
        "Length of training: `2000 steps`, `3 epochs`, `2B tokens`, `30 min`");
  field("output_dir", s.output_dir, anything(), "Folder in which the run's folder is created");
  field("deterministic", s.deterministic, anything(),
        "Make repeats and resumes equal bit for bit. On a CPU the thread count is stored; on a "
        "GPU attention is slower");
  field("device", s.device, anything(),
        "Device that computes. auto: a GPU if there is one that trainx has kernels for");
  field("execution", s.execution, anything(),
        "Execution of a step on a GPU. graph: one CUDA graph; eager: single launches with the "
        "same bits; auto: graph");
  field("hang_limit", s.hang_limit, anything(),
        "Time without progress of a rank after which the run ends with 81");
}

struct ModelSection {
  std::optional<std::string> size;       // a published set of dimensions
  std::optional<std::string> init_from;  // Hugging Face folder, or an id of its cache
  AttentionKind attention = AttentionKind::automatic;
  options::ModelOptions options;  // `type` names the alternative, `options:` holds its fields
  options::AdapterOptions adapter;
};
template <class Visitor>
void visit_fields(Visitor& field, ModelSection& s) {
  field("size", s.size, anything(), "Published set of dimensions");
  field("init_from", s.init_from, anything(),
        "Hugging Face folder (config.json, model.safetensors), checkpoint, or id of a model in the "
        "local Hugging Face cache to start from");
  field("attention", s.attention, anything(),
        "Attention kernels; all agree within rounding. cudnn; flash and efficient: LibTorch's; "
        "math: all scores in memory; auto: GPU: cudnn or trainx's own, the faster; CPU: flash");
}

struct DataSection {
  std::int64_t sequence_length = 128;
  std::optional<std::int64_t> target_length;
  bool shuffle = true;
  std::int64_t workers = 1;
  std::int64_t prefetch = 4;
  Auto<std::vector<std::int64_t>> pad_to;
  bool group_by_length = false;
  // `type` names the alternative, whose fields stand beside these
  options::DataOptions source;
};
template <class Visitor>
void visit_fields(Visitor& field, DataSection& s) {
  field("sequence_length", s.sequence_length, between(1, 1 << 24), "Tokens of a sample");
  field(
      "target_length", s.target_length, between(1, 1 << 24),
      "seq2seq: tokens of the text to write; default: sequence_length. Shorter rows of pad_to have "
      "as much less of them");
  field("shuffle", s.shuffle, anything(),
        "Permute samples by key in each epoch; false: keep their order");
  field("workers", s.workers, between(1, 256), "Threads that prepare samples");
  field("prefetch", s.prefetch, between(1, 65536), "Micro-batches prepared ahead, at most");
  field("pad_to", s.pad_to, between(1, 1 << 24),
        "Row lengths; a step uses the smallest that holds its longest sample. auto: 32, doubled "
        "up to sequence_length");
  field("group_by_length", s.group_by_length, anything(),
        "Put samples of similar length into one batch: less padding, a less random order");
}

/// Tokens of a row with padding, ascending: a step takes the smallest that holds its longest
/// sample. sequence_length alone where no sample is shorter.
std::vector<std::int64_t> row_lengths(const DataSection& data);
/// Of the text that seq2seq writes.
inline std::int64_t target_length(const DataSection& data) {
  return data.target_length.value_or(data.sequence_length);
}

// any two of three, the third is derived; or global_batch_size alone
struct BatchSection {
  std::optional<std::int64_t> global_batch_size;
  Auto<std::int64_t> micro_batch_size;
  std::optional<std::int64_t> grad_accum_steps;
};
template <class Visitor>
void visit_fields(Visitor& field, BatchSection& s) {
  field("global_batch_size", s.global_batch_size, between(1, 1 << 30),
        "Samples of one optimizer step, over all ranks");
  field("micro_batch_size", s.micro_batch_size, between(1, 1 << 30),
        "Samples of one forward, per rank. auto: derived from the other two, or with "
        "global_batch_size alone the fastest that fits memory.budget");
  field("grad_accum_steps", s.grad_accum_steps, between(1, 1 << 30),
        "Micro-steps of one optimizer step");
}

enum class Compute : std::uint8_t { fp32, tf32, bf16, fp16 };
inline const EnumNames<Compute>& enum_names(Compute) {
  static const EnumNames<Compute> names{{Compute::fp32, "fp32"},
                                        {Compute::tf32, "tf32"},
                                        {Compute::bf16, "bf16"},
                                        {Compute::fp16, "fp16"}};
  return names;
}
/// Of the blocks' linear layers. compute: as PrecisionSection::compute says.
enum class Products : std::uint8_t { compute, fp8 };
inline const EnumNames<Products>& enum_names(Products) {
  static const EnumNames<Products> names{{Products::compute, "compute"}, {Products::fp8, "fp8"}};
  return names;
}
enum class Scaling : std::uint8_t { current, delayed, blocks };
inline const EnumNames<Scaling>& enum_names(Scaling) {
  static const EnumNames<Scaling> names{
      {Scaling::current, "current"}, {Scaling::delayed, "delayed"}, {Scaling::blocks, "blocks"}};
  return names;
}
enum class MasterWeights : std::uint8_t { fp32, split, none };
inline const EnumNames<MasterWeights>& enum_names(MasterWeights) {
  static const EnumNames<MasterWeights> names{{MasterWeights::fp32, "fp32"},
                                              {MasterWeights::split, "split"},
                                              {MasterWeights::none, "none"}};
  return names;
}
enum class Rounding : std::uint8_t { nearest, stochastic };
inline const EnumNames<Rounding>& enum_names(Rounding) {
  static const EnumNames<Rounding> names{{Rounding::nearest, "nearest"},
                                         {Rounding::stochastic, "stochastic"}};
  return names;
}
enum class Reduce : std::uint8_t { fp32, bf16 };
inline const EnumNames<Reduce>& enum_names(Reduce) {
  static const EnumNames<Reduce> names{{Reduce::fp32, "fp32"}, {Reduce::bf16, "bf16"}};
  return names;
}
struct PrecisionSection {
  Compute compute = Compute::fp32;
  Products products = Products::compute;
  Scaling scaling = Scaling::current;
  Auto<Products> first_last;
  Products small_products = Products::compute;
  double fallback = 0.001;
  std::int64_t fallback_window = 100;
  Auto<MasterWeights> master;
  Rounding rounding = Rounding::nearest;
  Auto<double> loss_scale;
  double initial_loss_scale = 65536;
  std::int64_t loss_scale_window = 2000;
  Reduce reduce = Reduce::fp32;
};
template <class Visitor>
void visit_fields(Visitor& field, PrecisionSection& s) {
  field("compute", s.compute, anything(),
        "Arithmetic of forward and backward. tf32 (GPU): fp32 whose matrix products round "
        "operands to 10 mantissa bits");
  field("products", s.products, anything(),
        "Operands of matrix products in the blocks' linear layers. fp8 (CPU; GPU from compute "
        "capability 8.9, with bf16): e4m3 inputs and weights, e5m2 output gradients, scaled by "
        "each tensor's largest value; compute: as compute says");
  field(
      "scaling", s.scaling, anything(),
      "Scales of operands in fp8. current: of the tensor at hand, which is read once more for it; "
      "delayed: of the largest values of the last 16 steps; blocks (CPU; GPU of compute capability "
      "9.0): of 128 elements of inputs and output gradients and 128 x 128 of weights, all in e4m3");
  field("first_last", s.first_last, anything(),
        "Operands of those products in the first and the last layer. auto: as in all others");
  field("small_products", s.small_products, anything(),
        "Operands of those products that gain nothing in fp8, by the GPU's rates: their casts take "
        "longer than fp8 saves. CPUs, GPUs other than Hopper's and ranks that gather weights in "
        "fp8 (zero3) multiply all in fp8");
  field("fallback", s.fallback, fraction(),
        "Limit of saturation under scaling: delayed: products of a tensor of which a larger share "
        "of elements is cut to the largest number of fp8, as a mean of fallback_window steps, "
        "compute as compute says for the rest of the run. 1: never");
  field("fallback_window", s.fallback_window, between(1, 1 << 30),
        "Steps of that mean; products fall back after a multiple of it");
  field("master", s.master, anything(),
        "Exact weights beside 16-bit ones. fp32: a full copy; split: the low 16 bits of bf16 "
        "weights (2 bytes less); none: lost; auto: split under bf16, fp32 under fp16");
  field("rounding", s.rounding, anything(),
        "Rounding of bf16 weights without exact ones (master: none). nearest: updates below half "
        "a bf16 step are lost; stochastic: up or down at random, exact on average");
  field("loss_scale", s.loss_scale, positive(),
        "Factor of fp16 losses, so that small gradients do not underflow. auto: halved in a step "
        "with non-finite gradients, which is skipped; doubled after loss_scale_window others");
  field("initial_loss_scale", s.initial_loss_scale, positive(), "First value of loss_scale: auto");
  field("loss_scale_window", s.loss_scale_window, between(1, 1 << 30),
        "Steps without overflow after which loss_scale: auto doubles");
  field("reduce", s.reduce, anything(),
        "Type of gradients between ranks. bf16: half the bytes, rounded before and after the sum");
}

/// Parameters by their names, and how they are trained. What is not set stays as it is.
struct ParameterGroup {
  static constexpr bool list_may_be_absent = true;
  std::string match;
  std::optional<bool> freeze;
  std::optional<double> lr, lr_scale, weight_decay;
};
template <class Visitor>
void visit_fields(Visitor& field, ParameterGroup& g) {
  field("match", g.match, anything(),
        "Names of tensors as in the exported model.safetensors; * stands for any characters");
  field("freeze", g.freeze, anything(),
        "Keep these parameters as they are: no gradient, no optimizer state, no update");
  field("lr", g.lr, positive(), "Peak learning rate, instead of optimizer.lr; the schedule holds");
  field("lr_scale", g.lr_scale, positive(), "Factor of the learning rate, instead of lr");
  field("weight_decay", g.weight_decay, non_negative(),
        "Weight decay, also of biases and norms; 0: none");
}

struct OptimizerSection {
  double lr = 1e-3;
  double max_grad_norm = 1.0;
  bool update_in_backward = false;
  std::optional<double> ema_decay;
  std::vector<ParameterGroup> groups;
  options::OptimizerOptions options;  // `type` names the alternative, `options:` holds its fields
};
template <class Visitor>
void visit_fields(Visitor& field, OptimizerSection& s) {
  field("lr", s.lr, non_negative(), "Peak learning rate");
  field("max_grad_norm", s.max_grad_norm, non_negative(),
        "Limit of the global gradient norm; 0: no clipping");
  field("update_in_backward", s.update_in_backward, anything(),
        "Update each part of the weights as soon as its gradient is complete, and free the "
        "gradient. Needs grad_accum_steps 1 and max_grad_norm 0; a non-finite gradient ends the "
        "run");
  field("ema_decay", s.ema_decay, unit_interval(),
        "Decay of a moving average of the weights in fp32, updated in each step that updates them: "
        "average = ema_decay * average + (1 - ema_decay) * weight; null: none is kept");
  field.list("groups", s.groups,
             "Parameters that are frozen, or have a learning rate or weight decay of their own: a "
             "list of maps. Of maps that set the same key the last one that matches holds");
}

enum class ScheduleResume : std::uint8_t { extend, restart };
inline const EnumNames<ScheduleResume>& enum_names(ScheduleResume) {
  static const EnumNames<ScheduleResume> names{{ScheduleResume::extend, "extend"},
                                               {ScheduleResume::restart, "restart"}};
  return names;
}
struct ScheduleSection {
  Duration warmup{0, Duration::Unit::steps};
  double final_ratio = 0;
  // `type` names the alternative, whose fields stand beside these
  options::ScheduleOptions course;
  ScheduleResume resume = ScheduleResume::extend;
};
template <class Visitor>
void visit_fields(Visitor& field, ScheduleSection& s) {
  field("warmup", s.warmup, anything(),
        "Length of the linear rise to lr, in steps, epochs, tokens or percent of run.duration: "
        "`100 steps`, `5 %`");
  field("final_ratio", s.final_ratio, fraction(),
        "Last learning rate as a share of lr (not for constant and inverse_sqrt)");
  field("resume", s.resume, anything(),
        "Schedule of a run that resumes with another run.duration. extend: as if the run had had "
        "this duration from its first step. restart: a new schedule, warm-up included, from the "
        "resumed step to the new end");
}

enum class ActivationOffload : std::uint8_t { none, cpu };
inline const EnumNames<ActivationOffload>& enum_names(ActivationOffload) {
  static const EnumNames<ActivationOffload> names{{ActivationOffload::none, "none"},
                                                  {ActivationOffload::cpu, "cpu"}};
  return names;
}
enum class OptimizerOffload : std::uint8_t { none, cpu, disk, cpu_disk };
inline const EnumNames<OptimizerOffload>& enum_names(OptimizerOffload) {
  static const EnumNames<OptimizerOffload> names{{OptimizerOffload::none, "none"},
                                                 {OptimizerOffload::cpu, "cpu"},
                                                 {OptimizerOffload::disk, "disk"},
                                                 {OptimizerOffload::cpu_disk, "cpu+disk"}};
  return names;
}
constexpr bool uses_disk(OptimizerOffload where) {
  return where == OptimizerOffload::disk || where == OptimizerOffload::cpu_disk;
}
enum class OffloadedGradients : std::uint8_t { fp32, bf16 };
inline const EnumNames<OffloadedGradients>& enum_names(OffloadedGradients) {
  static const EnumNames<OffloadedGradients> names{{OffloadedGradients::fp32, "fp32"},
                                                   {OffloadedGradients::bf16, "bf16"}};
  return names;
}
struct OptimizerOffloadSection {
  OptimizerOffload where = OptimizerOffload::none;
  OffloadedGradients gradients = OffloadedGradients::fp32;
  Auto<double> share{0.0};
  std::optional<std::string> folder;  // of all that is on a disk; null: the run's own
  std::int64_t read_ahead = 2;        // likewise
  Auto<ByteSize> host_budget;
};
template <class Visitor>
void visit_fields(Visitor& field, OptimizerOffloadSection& s) {
  field("where", s.where, anything(),
        "Place of optimizer states and exact weights; cpu and disk: the CPU updates. cpu: host "
        "memory; disk: a file, read ahead of each update; cpu+disk: host memory up to "
        "host_budget, the rest in the file");
  field("gradients", s.gradients, anything(),
        "Type of gradients on their way to the host. bf16: half the bytes, each rounded once; "
        "their norm stays exact");
  field("share", s.share, fraction(),
        "Share of the optimizer that stays on the GPU. auto: the fastest within memory.budget");
  field("folder", s.folder, anything(),
        "Folder of the offload file, on a fast local disk; null: the run's folder. The file has "
        "no name and is gone when the run ends");
  field("read_ahead", s.read_ahead, between(1, 64),
        "Parameter groups (with parameter_offload: disk, blocks) read from the disk ahead of "
        "their use");
  field("host_budget", s.host_budget, anything(),
        "Host memory a rank may use for cpu+disk, e.g. 64 GiB. auto: what the machine or cgroup "
        "has");
}
enum class ParameterOffload : std::uint8_t { none, cpu, disk };
inline const EnumNames<ParameterOffload>& enum_names(ParameterOffload) {
  static const EnumNames<ParameterOffload> names{{ParameterOffload::none, "none"},
                                                 {ParameterOffload::cpu, "cpu"},
                                                 {ParameterOffload::disk, "disk"}};
  return names;
}
struct MemorySection {
  Auto<ByteSize> budget;
  // of all layers, or of each
  Auto<std::vector<RecomputeLevel>> activation_checkpoint{{{RecomputeLevel::none}}};
  std::int64_t recompute_segment = 1;
  ActivationOffload activation_offload = ActivationOffload::none;
  OptimizerOffloadSection optimizer_offload;  // a map of its own, behind the other keys
  ParameterOffload parameter_offload = ParameterOffload::none;
  std::optional<Duration> release_cache_every;
  bool fit = false;
};
inline bool uses_disk(const MemorySection& s) {
  return uses_disk(s.optimizer_offload.where) || s.parameter_offload == ParameterOffload::disk;
}
template <class Visitor>
void visit_fields(Visitor& field, MemorySection& s) {
  field("budget", s.budget, anything(),
        "Memory a rank may use, e.g. 8 GiB. auto: what the device, machine or cgroup has");
  field("activation_checkpoint", s.activation_checkpoint, anything(),
        "Activations recomputed in backward. selective: norm and GELU outputs; mlp: those and "
        "the MLP; full: all but one hidden state a layer; a list: per layer; auto: the least "
        "that fits memory.budget");
  field("recompute_segment", s.recompute_segment, between(1, 1 << 16),
        "Neighbouring layers at full that share one hidden state and are recomputed together");
  field("activation_offload", s.activation_offload, anything(),
        "cpu: saved activations wait in host memory; copies run beside the computation");
  field("parameter_offload", s.parameter_offload, anything(),
        "Place of weights between uses. cpu: host memory, copied in one block ahead; disk: a "
        "file (optimizer_offload.folder), read ahead of that. Not with dp, zero1, zero2");
  field("release_cache_every", s.release_cache_every, anything(),
        "Interval of returning memory that libraries keep unused to the system; null: never");
  field("fit", s.fit, anything(),
        "If the run does not fit memory.budget as written, choose micro_batch_size, "
        "activation_checkpoint, and on a GPU offload, at the least cost. global_batch_size stays");
}

enum class ParallelMode : std::uint8_t { single, ddp, dp, zero1, zero2, zero3 };
/// 1, 2 or 3: weights, exact weights and optimizer states lie in shards; 0: they do not.
constexpr int zero_stage(ParallelMode mode) {
  return mode == ParallelMode::zero1   ? 1
         : mode == ParallelMode::zero2 ? 2
         : mode == ParallelMode::zero3 ? 3
                                       : 0;
}
inline const EnumNames<ParallelMode>& enum_names(ParallelMode) {
  static const EnumNames<ParallelMode> names{
      {ParallelMode::single, "single"}, {ParallelMode::ddp, "ddp"},
      {ParallelMode::dp, "dp"},         {ParallelMode::zero1, "zero1"},
      {ParallelMode::zero2, "zero2"},   {ParallelMode::zero3, "zero3"}};
  return names;
}
enum class ExpertsOverflow : std::uint8_t { error, drop };
inline const EnumNames<ExpertsOverflow>& enum_names(ExpertsOverflow) {
  static const EnumNames<ExpertsOverflow> names{{ExpertsOverflow::error, "error"},
                                                {ExpertsOverflow::drop, "drop"}};
  return names;
}
inline const options::EnumNames<PipelineSchedule>& enum_names(PipelineSchedule) {
  static const options::EnumNames<PipelineSchedule> names{
      {PipelineSchedule::one_f_one_b, "1f1b"}, {PipelineSchedule::interleaved, "interleaved"}};
  return names;
}
/// Of parallel.tensor, of parallel.context, and of parallel.pipeline.
constexpr std::int64_t most_ranks_of_a_batch = 1 << 12;
struct ParallelSection {
  Auto<ParallelMode> mode;
  Auto<std::int64_t> world_size, shard_ranks;
  Auto<std::int64_t> tensor{1}, context{1};
  std::int64_t experts = 1;
  Auto<std::int64_t> pipeline{1};
  std::int64_t pipeline_chunks = 1;
  PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
  /// Ranks that share one batch; nothing: to be chosen.
  std::optional<std::int64_t> batch_ranks() const {
    if (tensor.is_auto() || context.is_auto() || pipeline.is_auto()) return std::nullopt;
    return *tensor.value * *context.value * *pipeline.value;
  }
  double experts_capacity = 0;
  ExpertsOverflow experts_overflow = ExpertsOverflow::error;
};
template <class Visitor>
void visit_fields(Visitor& field, ParallelSection& s) {
  field("mode", s.mode, anything(),
        "Distribution over ranks. ddp: gradients are summed; dp: rank 0 owns the model; zero1: "
        "shards of optimizer states and exact weights; zero2: of gradients too; zero3: of "
        "weights too; auto: single, or the first of ddp and zero1 to zero3 that fits "
        "memory.budget");
  field("world_size", s.world_size, between(1, 1 << 16),
        "Ranks, each a process with a GPU or a share of the CPU's cores. auto: as the launcher "
        "says, else one per visible GPU");
  field("shard_ranks", s.shard_ranks, between(2, 1 << 16),
        "Neighbouring ranks that hold one set of shards (zero1 to zero3); groups sum their "
        "gradients (hybrid sharding). auto: the ranks of one node if that fits memory.budget, "
        "else all");
  field("tensor", s.tensor, between(1, most_ranks_of_a_batch),
        "Neighbouring ranks that share one batch: each has a part of the heads, the features and "
        "the vocabulary of each layer, and between layers a part of the tokens (tensor and "
        "sequence parallelism). 1: each rank has whole layers; auto: 1, unless more fit "
        "memory.budget alone or are predicted to be faster");
  field("context", s.context, between(1, most_ranks_of_a_batch),
        "Neighbouring ranks that share one batch: each has all weights and a part of the tokens of "
        "each row, and computes attention for a part of the heads and all tokens (context "
        "parallelism). 1: each rank has whole rows; auto: 1, unless more fit memory.budget alone "
        "or are predicted to be faster");
  field(
      "pipeline", s.pipeline, between(1, most_ranks_of_a_batch),
      "Stages, each of which computes some of the layers of each micro-batch and hands on what "
      "they make (pipeline parallelism). Ranks of one stage are neighbours. 1: each rank computes "
      "all layers");
  field(
      "pipeline_schedule", s.pipeline_schedule, anything(),
      "In which order stages compute. 1f1b: a forward and a backward by turns, with as few "
      "micro-batches under way as keep all stages busy; interleaved: the same with several chunks "
      "of layers a stage, which idles less and keeps more");
  field("pipeline_chunks", s.pipeline_chunks, between(1, 64),
        "Of pipeline_schedule: interleaved, the chunks of layers of each stage");
  field("experts", s.experts, between(1, 1 << 12),
        "Neighbouring ranks that share the experts of each layer: each has as many of them, and "
        "rows go to them and back (expert parallelism). 1: each rank has all");
  field(
      "experts_capacity", s.experts_capacity, non_negative(),
      "Room for the choices that a rank's tokens make of another's experts, times those that they "
      "would make if all experts were chosen as often. 0: room for any choice");
  field("experts_overflow", s.experts_overflow, anything(),
        "Choices of experts beyond parallel.experts_capacity. error: the run ends; drop: no expert "
        "computes them, and steps count them");
}

enum class Resume : std::uint8_t { must, never };
inline const EnumNames<Resume>& enum_names(Resume) {
  static const EnumNames<Resume> names{{Resume::must, "must"}, {Resume::never, "never"}};
  return names;
}
struct CheckpointSection {
  Auto<Duration> every{{{500, Duration::Unit::steps}}};
  Auto<bool> asynchronous;
  std::int64_t keep_last = 2;
  Auto<Resume> resume;  // auto: from the newest valid checkpoint where there is one
};
template <class Visitor>
void visit_fields(Visitor& field, CheckpointSection& s) {
  field("every", s.every, anything(),
        "Interval of checkpoints, in steps, epochs, tokens or time. auto: training waits for "
        "them at most 1 % of the time. The last step is always saved");
  field("asynchronous", s.asynchronous, anything(),
        "Write checkpoints from a copy in host memory while training continues. auto: on a GPU "
        "if host memory fits the copy");
  field("keep_last", s.keep_last, between(1, 1 << 20), "Checkpoints kept beside `best`");
  field("resume", s.resume, anything(),
        "auto: the newest valid checkpoint, the start where there is none, exit 83 where all are "
        "damaged; must: exit 83 without one; never: refuse a folder that has steps");
}

enum class EvalPrecision : std::uint8_t { bf16, fp16 };
inline const EnumNames<EvalPrecision>& enum_names(EvalPrecision) {
  static const EnumNames<EvalPrecision> names{{EvalPrecision::bf16, "bf16"},
                                              {EvalPrecision::fp16, "fp16"}};
  return names;
}
enum class EvalWeights : std::uint8_t { current, average };
inline const EnumNames<EvalWeights>& enum_names(EvalWeights) {
  static const EnumNames<EvalWeights> names{{EvalWeights::current, "current"},
                                            {EvalWeights::average, "average"}};
  return names;
}
enum class BestMetric : std::uint8_t { loss, accuracy, f1, perplexity };
inline const EnumNames<BestMetric>& enum_names(BestMetric) {
  static const EnumNames<BestMetric> names{{BestMetric::loss, "loss"},
                                           {BestMetric::accuracy, "accuracy"},
                                           {BestMetric::f1, "f1"},
                                           {BestMetric::perplexity, "perplexity"}};
  return names;
}
enum class Goal : std::uint8_t { lower, higher };
inline const EnumNames<Goal>& enum_names(Goal) {
  static const EnumNames<Goal> names{{Goal::lower, "lower"}, {Goal::higher, "higher"}};
  return names;
}
struct EvalBestSection {
  BestMetric metric = BestMetric::loss;
  Auto<Goal> goal;
};
/// Whether the best value of the metric is the highest.
inline bool prefers_higher(const EvalBestSection& s) {
  const bool usual = s.metric == BestMetric::accuracy || s.metric == BestMetric::f1;
  return s.goal.is_auto() ? usual : *s.goal.value == Goal::higher;
}
template <class Visitor>
void visit_fields(Visitor& field, EvalBestSection& s) {
  field("metric", s.metric, anything(),
        "held-out metric that decides which checkpoint is `best`, and when early_stopping ends the "
        "run");
  field("goal", s.goal, anything(),
        "lower or higher is better; auto: higher for accuracy and f1, else lower");
}
struct EarlyStoppingSection {
  std::optional<std::int64_t> patience;
  double min_delta = 0;
};
template <class Visitor>
void visit_fields(Visitor& field, EarlyStoppingSection& s) {
  field("patience", s.patience, between(1, 1 << 30),
        "end the run after this many evaluations in a row without improvement of eval.best.metric; "
        "null: never");
  field("min_delta", s.min_delta, non_negative(),
        "smallest change of the metric that is an improvement");
}
struct EvalSection {
  Duration every{500, Duration::Unit::steps};
  AllOr<std::int64_t> batches;
  Auto<EvalPrecision> precision;
  EvalWeights weights = EvalWeights::current;
  EvalBestSection best;  // maps of their own, behind the other keys
  EarlyStoppingSection early_stopping;
};
template <class Visitor>
void visit_fields(Visitor& field, EvalSection& s) {
  field("every", s.every, anything(), "Interval of evaluations; needs held-out data");
  field("batches", s.batches, between(1, 1 << 30),
        "Global batches of an evaluation. all: the whole held-out set; a number: that many, spread "
        "evenly over the set, the same samples each time");
  field("precision", s.precision, anything(),
        "Arithmetic of evaluations; weights are cast block by block. auto: as training computes");
  field("weights", s.weights, anything(),
        "Weights that evaluations compute with. average: the moving average of "
        "optimizer.ema_decay");
}

struct GenerateSection {
  std::optional<Duration> every;
  std::optional<std::string> prompt;
  std::int64_t tokens = 32;
};
template <class Visitor>
void visit_fields(Visitor& field, GenerateSection& s) {
  field("every", s.every, anything(),
        "steps, epochs, tokens or time between texts that the model writes during training, to the "
        "console "
        "and to samples.jsonl; null: never");
  field("prompt", s.prompt, anything(), "text to continue; token ids where no tokenizer is known");
  field("tokens", s.tokens, between(1, 1 << 20), "tokens to add, at most");
}

struct MetricsSection {
  Duration every{10, Duration::Unit::steps};
  bool tensorboard = false;
};
template <class Visitor>
void visit_fields(Visitor& field, MetricsSection& s) {
  field("every", s.every, anything(), "Interval of lines in metrics.jsonl and the log");
  field("tensorboard", s.tensorboard, anything(),
        "Write the same numbers for TensorBoard, into the run's folder tensorboard");
}

struct Recipe {
  RunSection run;
  ModelSection model;
  DataSection data;
  BatchSection batch;
  PrecisionSection precision;
  OptimizerSection optimizer;
  ScheduleSection schedule;
  MemorySection memory;
  ParallelSection parallel;
  CheckpointSection checkpoint;
  EvalSection eval;
  GenerateSection generate;
  MetricsSection metrics;
};

}  // namespace trainx::recipe
