// The recipe on one page: what a user may write, with defaults. Read, dumped and documented through visit_fields.
#pragma once
#include "spec/arch/options.hpp"
#include "spec/data/options.hpp"
#include "spec/optim/options.hpp"
#include "spec/schedule/options.hpp"

namespace trainx::recipe {

using spec::anything, spec::at_least, spec::Auto, spec::between, spec::EnumNames, spec::fraction, spec::non_negative, spec::positive;

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
  std::string name;                     // default: the recipe's file name without .yaml
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
  field("name", s.name, anything(), "names the run's folder; default: the recipe's file name");
  field("seed", s.seed, non_negative(), "of initial weights, sample order, dropout and stochastic rounding");
  field("duration", s.duration, anything(), "how long to train: `2000 steps`, `3 epochs`, `2B tokens`, `30 min`");
  field("output_dir", s.output_dir, anything(), "where the run's folder is made");
  field("deterministic", s.deterministic, anything(), "bit-equal repeats and resumes: on a CPU the thread count is stored and replayed, on a GPU attention is slower");
  field("device", s.device, anything(), "what computes; auto: a GPU where there is one and the recipe's parts run there (gpt2 and bert)");
  field("execution", s.execution, anything(), "graph: a step on a GPU is replayed as one CUDA graph; eager: its instructions are launched one by one, with the same bits; auto: graph on a GPU");
  field("hang_limit", s.hang_limit, anything(), "of several ranks: for how long one may stand still before the run ends and names it (81), e.g. `60 s`");
}

struct ModelSection {
  std::optional<std::string> size;      // a published set of dimensions
  std::optional<std::string> init_from; // Hugging Face folder
  AttentionKind attention = AttentionKind::automatic;
  spec::ModelOptions options;           // `type` names the alternative, `options:` holds its fields
};
template <class Visitor>
void visit_fields(Visitor& field, ModelSection& s) {
  field("size", s.size, anything(), "a published set of dimensions");
  field("init_from", s.init_from, anything(), "a Hugging Face folder (config.json, model.safetensors) or a checkpoint to start from");
  field("attention", s.attention, anything(), "who computes it, all alike but for rounding: cudnn; flash and efficient, LibTorch's; math, with all scores in memory; auto: cudnn in 16 bits on a GPU, trainx's own kernels else, flash on a CPU");
}

struct DataSection {
  std::int64_t sequence_length = 128;
  bool shuffle = true;
  std::int64_t workers = 1;
  std::int64_t prefetch = 4;
  Auto<std::vector<std::int64_t>> pad_to;
  bool group_by_length = false;
  spec::DataOptions source;             // `type` names the alternative, whose fields stand beside these
};
template <class Visitor>
void visit_fields(Visitor& field, DataSection& s) {
  field("sequence_length", s.sequence_length, between(1, 1 << 24), "tokens of a sample");
  field("shuffle", s.shuffle, anything(), "keyed permutation of the samples each epoch; false: in order");
  field("workers", s.workers, between(1, 256), "threads that prepare samples");
  field("prefetch", s.prefetch, between(1, 65536), "micro-batches prepared ahead, at most");
  field("pad_to", s.pad_to, between(1, 1 << 24), "lengths to which batches are padded, the smallest that holds the step's longest sample; auto: 32, doubled up to sequence_length");
  field("group_by_length", s.group_by_length, anything(), "samples of like length share a batch: less padding, a less random order");
}

/// Tokens of a row with padding, ascending: a step takes the smallest that holds its longest sample. sequence_length alone where no sample is shorter.
std::vector<std::int64_t> row_lengths(const DataSection& data);

struct BatchSection {                   // any two of three, the third is derived; or global_batch_size alone
  std::optional<std::int64_t> global_batch_size;
  Auto<std::int64_t> micro_batch_size;
  std::optional<std::int64_t> grad_accum_steps;
};
template <class Visitor>
void visit_fields(Visitor& field, BatchSection& s) {
  field("global_batch_size", s.global_batch_size, between(1, 1 << 30), "samples of an optimizer step");
  field("micro_batch_size", s.micro_batch_size, between(1, 1 << 30), "samples of one forward, per rank; auto: from the other two, or with global_batch_size alone the fastest that fits memory.budget");
  field("grad_accum_steps", s.grad_accum_steps, between(1, 1 << 30), "micro-steps of a step");
}

enum class Compute : std::uint8_t { fp32, tf32, bf16, fp16 };
inline const EnumNames<Compute>& enum_names(Compute) {
  static const EnumNames<Compute> names{{Compute::fp32, "fp32"}, {Compute::tf32, "tf32"}, {Compute::bf16, "bf16"}, {Compute::fp16, "fp16"}};
  return names;
}
enum class MasterWeights : std::uint8_t { fp32, split, none };
inline const EnumNames<MasterWeights>& enum_names(MasterWeights) {
  static const EnumNames<MasterWeights> names{{MasterWeights::fp32, "fp32"}, {MasterWeights::split, "split"}, {MasterWeights::none, "none"}};
  return names;
}
enum class Rounding : std::uint8_t { nearest, stochastic };
inline const EnumNames<Rounding>& enum_names(Rounding) {
  static const EnumNames<Rounding> names{{Rounding::nearest, "nearest"}, {Rounding::stochastic, "stochastic"}};
  return names;
}
enum class Reduce : std::uint8_t { fp32, bf16 };
inline const EnumNames<Reduce>& enum_names(Reduce) {
  static const EnumNames<Reduce> names{{Reduce::fp32, "fp32"}, {Reduce::bf16, "bf16"}};
  return names;
}
struct PrecisionSection {
  Compute compute = Compute::fp32;
  Auto<MasterWeights> master;
  Rounding rounding = Rounding::nearest;
  Auto<double> loss_scale;
  double initial_loss_scale = 65536;
  std::int64_t loss_scale_window = 2000;
  Reduce reduce = Reduce::fp32;
};
template <class Visitor>
void visit_fields(Visitor& field, PrecisionSection& s) {
  field("compute", s.compute, anything(), "arithmetic of forward and backward; tf32: fp32 whose matrix products round their operands to 10 mantissa bits, on a GPU");
  field("master", s.master, anything(), "exact weights beside 16-bit ones: fp32, a full copy; split, the low 16 bits of bf16 (2 bytes less); none, what bf16 cannot hold is lost; auto: split under bf16, fp32 under fp16");
  field("rounding", s.rounding, anything(),
        "of weights that bf16 alone holds (master: none): nearest, updates below half a step of bf16 are lost; stochastic, up or down at random, as likely as near, so that they add up on average");
  field("loss_scale", s.loss_scale, positive(), "what losses are multiplied by under fp16, so that small gradients do not vanish; auto: halved in a step whose gradients are not finite, which is skipped, and doubled after loss_scale_window others");
  field("initial_loss_scale", s.initial_loss_scale, positive(), "of loss_scale: auto");
  field("loss_scale_window", s.loss_scale_window, between(1, 1 << 30), "of loss_scale: auto, in steps");
  field("reduce", s.reduce, anything(), "what gradients travel in between ranks: fp32; bf16, half the bytes, rounded before and after they are summed");
}

struct OptimizerSection {
  double lr = 1e-3;
  double max_grad_norm = 1.0;
  bool update_in_backward = false;
  spec::OptimizerOptions options;       // `type` names the alternative, `options:` holds its fields
};
template <class Visitor>
void visit_fields(Visitor& field, OptimizerSection& s) {
  field("lr", s.lr, non_negative(), "peak learning rate");
  field("max_grad_norm", s.max_grad_norm, non_negative(), "clips the global gradient norm; 0 clips nothing");
  field("update_in_backward", s.update_in_backward, anything(),
        "update each part of the weights as soon as backward has its gradient, whose memory is then free; needs grad_accum_steps 1 and max_grad_norm 0, and a gradient that is not finite ends the run");
}

struct ScheduleSection {
  Duration warmup{0, Duration::Unit::steps};
  double final_ratio = 0;
  spec::ScheduleOptions course;         // `type` names the alternative, whose fields stand beside these
};
template <class Visitor>
void visit_fields(Visitor& field, ScheduleSection& s) {
  field("warmup", s.warmup, anything(), "linear rise to lr, in steps, epochs or tokens");
  field("final_ratio", s.final_ratio, fraction(), "last learning rate as a share of lr (not with constant and inverse_sqrt)");
}

enum class ActivationCheckpoint : std::uint8_t { none, selective, mlp, full };
inline const EnumNames<ActivationCheckpoint>& enum_names(ActivationCheckpoint) {
  static const EnumNames<ActivationCheckpoint> names{{ActivationCheckpoint::none, "none"}, {ActivationCheckpoint::selective, "selective"}, {ActivationCheckpoint::mlp, "mlp"},
                                                     {ActivationCheckpoint::full, "full"}};
  return names;
}
enum class ActivationOffload : std::uint8_t { none, cpu };
inline const EnumNames<ActivationOffload>& enum_names(ActivationOffload) {
  static const EnumNames<ActivationOffload> names{{ActivationOffload::none, "none"}, {ActivationOffload::cpu, "cpu"}};
  return names;
}
enum class OptimizerOffload : std::uint8_t { none, cpu, disk, cpu_disk };
inline const EnumNames<OptimizerOffload>& enum_names(OptimizerOffload) {
  static const EnumNames<OptimizerOffload> names{{OptimizerOffload::none, "none"}, {OptimizerOffload::cpu, "cpu"}, {OptimizerOffload::disk, "disk"}, {OptimizerOffload::cpu_disk, "cpu+disk"}};
  return names;
}
constexpr bool uses_disk(OptimizerOffload where) { return where == OptimizerOffload::disk || where == OptimizerOffload::cpu_disk; }
enum class OffloadedGradients : std::uint8_t { fp32, bf16 };
inline const EnumNames<OffloadedGradients>& enum_names(OffloadedGradients) {
  static const EnumNames<OffloadedGradients> names{{OffloadedGradients::fp32, "fp32"}, {OffloadedGradients::bf16, "bf16"}};
  return names;
}
struct OptimizerOffloadSection {
  OptimizerOffload where = OptimizerOffload::none;
  OffloadedGradients gradients = OffloadedGradients::fp32;
  Auto<double> share{0.0};
  std::optional<std::string> folder;    // of all that is on a disk; null: the run's own
  std::int64_t read_ahead = 2;          // likewise
  Auto<ByteSize> host_budget;
};
template <class Visitor>
void visit_fields(Visitor& field, OptimizerOffloadSection& s) {
  field("where", s.where, anything(),
        "cpu: optimizer states and exact weights lie in host memory; gradients are copied there as they become complete, the CPU updates, and weights are copied back; disk: in a file, read "
        "ahead of each update and written behind it; cpu+disk: in host memory as far as host_budget goes, the rest in the file");
  field("gradients", s.gradients, anything(), "what gradients travel to the host in, and wait there: fp32; bf16, half the bytes, each rounded once, when it is complete; their norm is that of the exact ones");
  field("share", s.share, fraction(), "of the optimizer, the part that stays on the GPU, by parts of the model; auto: as much as is fastest within memory.budget");
  field("folder", s.folder, anything(), "of disk and cpu+disk, and of parameter_offload: disk, which has the same file: where it is made, on a fast local disk; it has no name, and is gone when the run ends; null: the run's folder");
  field("read_ahead", s.read_ahead, between(1, 64), "of disk and cpu+disk: for how many parts of the model, beyond the one that is updated, host memory is set aside to read into; of parameter_offload: disk, beyond the one that is copied in");
  field("host_budget", s.host_budget, anything(), "of cpu+disk: memory that a rank may take on the host, e.g. 64 GiB; auto: what the machine (cgroup) has");
}
enum class ParameterOffload : std::uint8_t { none, cpu, disk };
inline const EnumNames<ParameterOffload>& enum_names(ParameterOffload) {
  static const EnumNames<ParameterOffload> names{{ParameterOffload::none, "none"}, {ParameterOffload::cpu, "cpu"}, {ParameterOffload::disk, "disk"}};
  return names;
}
struct MemorySection {
  Auto<ByteSize> budget;
  Auto<std::vector<ActivationCheckpoint>> activation_checkpoint{{{ActivationCheckpoint::none}}};   // of all layers, or of each
  std::int64_t checkpoint_segment = 1;
  ActivationOffload activation_offload = ActivationOffload::none;
  OptimizerOffloadSection optimizer_offload;   // a map of its own, behind the other keys
  ParameterOffload parameter_offload = ParameterOffload::none;
  std::optional<Duration> release_cache_every;
  bool fit = false;
};
inline bool uses_disk(const MemorySection& s) { return uses_disk(s.optimizer_offload.where) || s.parameter_offload == ParameterOffload::disk; }
template <class Visitor>
void visit_fields(Visitor& field, MemorySection& s) {
  field("budget", s.budget, anything(), "memory a rank may take, e.g. 8 GiB; auto: what the machine (cgroup) has");
  field("activation_checkpoint", s.activation_checkpoint, anything(),
        "recompute in backward instead of keeping: none; selective, norm and GELU outputs; mlp, those and the whole MLP; full, all but one hidden a layer; one for all layers or a list; auto: the least that fits memory.budget");
  field("checkpoint_segment", s.checkpoint_segment, between(1, 1 << 16), "neighbouring layers at full that keep one hidden together and are recomputed together");
  field("activation_offload", s.activation_offload, anything(),
        "cpu: what layers keep for backward waits in host memory; copied out behind forward, and back one block ahead of backward, beside the computation");
  field("parameter_offload", s.parameter_offload, anything(),
        "cpu: weights lie in host memory, and are copied in one block ahead of each use in forward and backward; disk: in a file (optimizer_offload.folder), read into host memory ahead of that "
        "(optimizer_offload.read_ahead); not in the modes that hold all of them for a step (dp, zero1, zero2)");
  field("release_cache_every", s.release_cache_every, anything(), "between returns of unused memory that libraries keep to the system; null: never");
  field("fit", s.fit, anything(), "where the run does not fit memory.budget as written: choose micro_batch_size, activation_checkpoint, and on a GPU activation_offload and optimizer_offload anew, the cheapest that fits; global_batch_size stays");
}

enum class ParallelMode : std::uint8_t { single, ddp, dp, zero1, zero2, zero3 };
/// 1, 2 or 3: weights, exact weights and optimizer states lie in shards; 0: they do not.
constexpr int zero_stage(ParallelMode mode) { return mode == ParallelMode::zero1 ? 1 : mode == ParallelMode::zero2 ? 2 : mode == ParallelMode::zero3 ? 3 : 0; }
inline const EnumNames<ParallelMode>& enum_names(ParallelMode) {
  static const EnumNames<ParallelMode> names{{ParallelMode::single, "single"}, {ParallelMode::ddp, "ddp"},     {ParallelMode::dp, "dp"},
                                             {ParallelMode::zero1, "zero1"},   {ParallelMode::zero2, "zero2"}, {ParallelMode::zero3, "zero3"}};
  return names;
}
struct ParallelSection {
  Auto<ParallelMode> mode;
  Auto<std::int64_t> world_size, shard_ranks;
};
template <class Visitor>
void visit_fields(Visitor& field, ParallelSection& s) {
  field("mode", s.mode, anything(),
        "single: one rank; ddp: each rank has the model, gradients are summed beside backward; dp: rank 0 owns the model, and sends weights and batches out each step; zero1: each rank keeps and updates a "
        "shard of exact weights and optimizer states, and all gather weights for a step; zero2: of gradients too; zero3: weights are gathered one block ahead of each use, and given up behind it; "
        "auto: single, and with several ranks the first of ddp, zero1, zero2, zero3 that fits memory.budget");
  field("world_size", s.world_size, between(1, 1 << 16), "ranks, each a process with a GPU or a share of the CPU's cores; auto: as many as the launcher says, else one for each visible GPU");
  field("shard_ranks", s.shard_ranks, between(2, 1 << 16),
        "zero1 to zero3: how many ranks, neighbours, hold all shards among them; further groups of as many hold the same, and sum their gradients by shards (hybrid sharding); auto: the ranks of one node where "
        "those fit memory.budget, else all");
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
  Auto<Resume> resume;                  // auto: from the newest valid checkpoint where there is one
};
template <class Visitor>
void visit_fields(Visitor& field, CheckpointSection& s) {
  field("every", s.every, anything(), "steps, epochs, tokens or time between checkpoints; auto: so seldom that training waits for them 1 % of the time at most, and not before 30 s; the last step is always saved");
  field("asynchronous", s.asynchronous, anything(), "true: what is saved is copied into host memory, and written to disk while training goes on; false: training waits for the disk; auto: true on a GPU beside which the host has memory for the copy, else false");
  field("keep_last", s.keep_last, between(1, 1 << 20), "checkpoints kept beside `best`");
  field("resume", s.resume, anything(), "auto: from the newest valid checkpoint, else from the start; must: exit 83 without one; never: refuse a folder that has steps");
}

enum class EvalPrecision : std::uint8_t { bf16, fp16 };
inline const EnumNames<EvalPrecision>& enum_names(EvalPrecision) {
  static const EnumNames<EvalPrecision> names{{EvalPrecision::bf16, "bf16"}, {EvalPrecision::fp16, "fp16"}};
  return names;
}
struct EvalSection {
  Duration every{500, Duration::Unit::steps};
  std::int64_t batches = 20;
  Auto<EvalPrecision> precision;
};
template <class Visitor>
void visit_fields(Visitor& field, EvalSection& s) {
  field("every", s.every, anything(), "between evaluations; needs held-out data");
  field("batches", s.batches, between(1, 1 << 30), "global batches of an evaluation, at most");
  field("precision", s.precision, anything(), "arithmetic of evaluations, weights cast to it block by block; auto: as training computes");
}

struct MetricsSection {
  Duration every{10, Duration::Unit::steps};
  bool tensorboard = false;
};
template <class Visitor>
void visit_fields(Visitor& field, MetricsSection& s) {
  field("every", s.every, anything(), "between lines of metrics.jsonl and of the log");
  field("tensorboard", s.tensorboard, anything(), "the same numbers for TensorBoard, in the run's folder tensorboard");
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
  MetricsSection metrics;
};

}  // namespace trainx::recipe
