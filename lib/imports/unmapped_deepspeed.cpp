#include "imports/reasons.hpp"
#include "imports/unmapped.hpp"

namespace trainx::imports {
namespace {

using namespace reasons;

constexpr std::string_view no_compression = "trainx does not compress models";
constexpr std::string_view no_partition =
    "trainx recomputes on each rank what it keeps: no activations are shared between ranks";

constexpr Unmapped deepspeed_table[]{
    // These act with a stage, an offload device or fp16, which are listed themselves.
    {"zero_optimization.stage3_*", "*", ""},
    {"zero_optimization.overlap_comm", "*", ""},
    {"zero_optimization.contiguous_gradients", "*", ""},
    {"zero_optimization.reduce_scatter", "*", ""},
    {"zero_optimization.reduce_bucket_size", "*", ""},
    {"zero_optimization.allgather_partitions", "*", ""},
    {"zero_optimization.allgather_bucket_size", "*", ""},
    {"zero_optimization.round_robin_gradients", "*", ""},
    {"zero_optimization.sub_group_size", "*", ""},
    {"zero_optimization.zero_quantized_*", "*", ""},
    {"zero_optimization.ignore_unused_parameters", "*", ""},
    {"zero_optimization.elastic_checkpoint", "*", ""},
    {"zero_optimization.load_from_fp32_weights", "*", ""},
    {"zero_optimization.legacy_stage1", "*", ""},
    {"zero_optimization.param_persistence_threshold", "*", ""},
    {"zero_optimization.model_persistence_threshold", "*", ""},
    {"zero_optimization.max_live_parameters", "*", ""},
    {"zero_optimization.max_reuse_distance", "*", ""},
    {"zero_optimization.gather_16bit_weights_on_model_save", "*", ""},
    {"zero_optimization.prefetch_bucket_size", "*", ""},
    {"zero_optimization.memory_efficient_linear", "*", ""},
    {"zero_optimization.mics_*", "*", ""},
    {"zero_optimization.log_trace_cache_warnings", "*", ""},
    {"zero_optimization.use_multi_rank_bucket_allreduce", "*", ""},
    {"zero_optimization.pipeline_loading_checkpoint", "*", ""},
    {"zero_optimization.override_module_apply", "*", ""},
    {"zero_optimization.module_granularity_threshold", "*", ""},
    {"zero_optimization.offload_optimizer.nvme_path", "*", ""},
    {"zero_optimization.offload_optimizer.buffer_count", "*", ""},
    {"zero_optimization.offload_optimizer.buffer_size", "*", ""},
    {"zero_optimization.offload_optimizer.pin_memory", "*", ""},
    {"zero_optimization.offload_optimizer.pipeline_read", "*", ""},
    {"zero_optimization.offload_optimizer.pipeline_write", "*", ""},
    {"zero_optimization.offload_optimizer.pipeline", "*", ""},
    {"zero_optimization.offload_optimizer.fast_init", "*", ""},
    {"zero_optimization.offload_optimizer.ratio", "*", ""},  // acts with a device
    {"zero_optimization.offload_optimizer.max_in_cpu", "*", ""},
    {"zero_optimization.offload_param.nvme_path", "*", ""},
    {"zero_optimization.offload_param.buffer_count", "*", ""},
    {"zero_optimization.offload_param.buffer_size", "*", ""},
    {"zero_optimization.offload_param.pin_memory", "*", ""},
    {"zero_optimization.offload_param.pipeline_read", "*", ""},
    {"zero_optimization.offload_param.pipeline_write", "*", ""},
    {"zero_optimization.offload_param.pipeline", "*", ""},
    {"zero_optimization.offload_param.fast_init", "*", ""},
    {"zero_optimization.offload_param.ratio", "*", ""},
    {"zero_optimization.offload_param.max_in_cpu", "*", ""},
    {"fp16.loss_scale", "*", ""},
    {"fp16.loss_scale_window", "*", ""},
    {"fp16.initial_scale_power", "*", ""},
    {"fp16.hysteresis", "*", ""},
    {"fp16.min_loss_scale", "*", ""},
    {"fp16.auto_cast", "*", ""},
    {"fp16.consecutive_hysteresis", "*", ""},
    {"fp16.fp16_master_weights_and_grads", "*", ""},
    {"bf16.immediate_grad_update", "*", ""},
    {"bf16.check_grad_overflow", "*", ""},
    {"zero_allow_untested_optimizer", "*", ""},
    {"zero_force_ds_cpu_optimizer", "*", ""},
    {"aio*", "*", ""},
    {"zero_optimization.cpu_offload*", "false",
     "memory.optimizer_offload and memory.parameter_offload keep things on the host"},
    {"zero_optimization.zero_hpz_partition_size", "1",
     "trainx keeps no second copy of weights per node; parallel.shard_ranks shards within so many "
     "ranks"},
    {"activation_checkpointing.partition_activations", "false", no_partition},
    {"activation_checkpointing.contiguous_memory_optimization", "*", ""},
    {"activation_checkpointing.number_checkpoints", "",
     "memory.recompute_segment says how many layers are recomputed together"},
    {"activation_checkpointing.synchronize_checkpoint_boundary", "*", ""},
    {"activation_checkpointing.profile", "*", own_logs},
    {"steps_per_print", "*", own_logs},
    {"wall_clock_breakdown", "*", own_logs},
    {"memory_breakdown", "*", own_logs},
    {"dump_state", "*", own_logs},
    {"tensorboard.*", "*", ""},  // act with enabled
    {"wandb*", "false", own_logs},
    {"csv_monitor*", "false", own_logs},
    {"comet*", "false", own_logs},
    {"flops_profiler*", "false", "`trainx train --profile N` shows where time goes"},
    {"comms_*", "false", "`trainx train --profile N` shows where time goes"},
    {"gradient_predivide_factor", "1", "trainx sums gradients in fp32 and divides once"},
    {"prescale_gradients", "false", "trainx sums gradients in fp32 and divides once"},
    {"sparse_gradients", "false", "gradients are dense"},
    {"checkpoint*", "", own_checkpoints},
    {"data_types*", "fp32", "trainx sums gradients in fp32"},
    {"pipeline*", "", no_model_parallelism},
    {"tensor_parallel*", "", no_model_parallelism},
    {"sequence_parallel*", "1", no_model_parallelism},
    {"autotuning*", "false", "`trainx plan` predicts what fits and how fast it is"},
    {"elasticity*", "false", any_ranks},
    {"compression_training*", "", no_compression},
    {"sparse_attention*", "", no_sparse_attention},
    {"curriculum_learning*", "false", keyed_order},
    {"data_efficiency*", "false", keyed_order},
    {"aio*", "*", ""},
    {"nebula*", "false", own_checkpoints},
    {"compile*", "false", no_compiler},
    {"torch_autocast*", "false", precisions},
    {"seed", "", "write it into TrainingArguments, or run.seed"},
};

}  // namespace

std::span<const Unmapped> deepspeed_unmapped() { return deepspeed_table; }

}  // namespace trainx::imports
