#include "foreign/unmapped.hpp"
#include <algorithm>
#include <array>

namespace trainx::foreign {
namespace {

constexpr std::string_view no_compiler = "trainx has no compiler to choose: steps are captured as one CUDA graph";
constexpr std::string_view own_kernels = "trainx has kernels of its own, and says which run: trainx plan";
constexpr std::string_view one_gpu = "trainx trains on one GPU: there are no peers to talk to";
constexpr std::string_view no_shards = "trainx trains on one GPU: nothing is sharded; memory.activation_checkpoint and precision: bf16 save memory";
constexpr std::string_view no_uploads = "trainx uploads nothing; trainx export writes a Hugging Face folder";
constexpr std::string_view own_logs = "trainx logs to metrics.jsonl and the console";
constexpr std::string_view own_metrics = "trainx eval says loss, perplexity, accuracy and F1";
constexpr std::string_view labels_in_data = "the data's lines say what is to be predicted";
constexpr std::string_view no_regularizer = "trainx does not change the loss: the run would differ";
constexpr std::string_view names_data = "other tools' data sets are not read: data.train names a file (--data)";
constexpr std::string_view names_model = "trainx downloads nothing: model.init_from names a Hugging Face folder (--model)";
constexpr std::string_view own_allocation = "memory is planned before the run, nothing is allocated or freed in it";
constexpr std::string_view own_loader = "the loader's threads live as long as the run";
constexpr std::string_view no_skip = "a run goes on at the very sample at which it stopped";
constexpr std::string_view by_command = "the command says it: trainx train, eval or generate";

constexpr Unmapped training_arguments[]{
    {"torch_compile*", "false", no_compiler},
    {"torchdynamo", "", no_compiler},
    {"jit_mode_eval", "false", no_compiler},
    {"use_ipex", "false", own_kernels},
    {"use_liger_kernel", "false", own_kernels},
    {"liger_kernel_config*", "", own_kernels},
    {"use_cache", "false", "trainx keeps keys and values while it generates, never while it trains"},
    {"neftune_noise_alpha", "0", no_regularizer},
    {"label_smoothing_factor", "0", no_regularizer},
    {"average_tokens_across_devices", "true", "trainx always divides by the target tokens of the global batch"},
    {"torch_empty_cache_steps", "", own_allocation},
    {"auto_find_batch_size", "false", "trainx plan says beforehand what fits; batch.micro_batch_size is the lever"},
    {"activation_checkpointing_kwargs*", "", "trainx recomputes by its own program: there is no autograd to choose"},
    {"gradient_checkpointing_kwargs*", "", "trainx recomputes by its own program: there is no autograd to choose"},
    {"optim_target_modules", "", "only GaLore and APOLLO take it"},
    {"adafactor", "false", "write optim: adafactor"},
    {"fp16_opt_level", "*", ""},
    {"fp16_backend", "auto", own_kernels},
    {"half_precision_backend", "auto|cuda_amp", own_kernels},
    {"eval_delay", "0", "evaluations begin with the first interval"},
    {"eval_on_start", "false", "evaluations begin with the first interval; trainx eval measures a folder"},
    {"per_device_eval_batch_size", "8", "evaluation takes the micro-batches of training"},
    {"per_gpu_eval_batch_size", "", "evaluation takes the micro-batches of training"},
    {"eval_accumulation_steps", "", "evaluation keeps no logits"},
    {"eval_do_concat_batches", "*", ""},
    {"eval_use_gather_object", "false", own_metrics},
    {"prediction_loss_only", "*", ""},
    {"batch_eval_metrics", "*", ""},
    {"include_for_metrics", "", own_metrics},
    {"include_inputs_for_metrics", "false", own_metrics},
    {"include_tokens_per_second", "*", ""},
    {"include_num_input_tokens_seen", "*", ""},
    {"metric_for_best_model", "loss|eval_loss", "`best` is the checkpoint of the lowest held-out loss"},
    {"greater_is_better", "false", "`best` is the checkpoint of the lowest held-out loss"},
    {"load_best_model_at_end", "false", "the run's folder has `best` beside `latest`"},
    {"save_safetensors", "true", "checkpoints are safetensors"},
    {"save_only_model", "false", "checkpoints can always be resumed from; trainx export writes weights alone"},
    {"save_on_each_node", "false", one_gpu},
    {"enable_jit_checkpoint", "false", "SIGTERM always saves first"},
    {"overwrite_output_dir", "*", ""},
    {"ignore_data_skip", "false", no_skip},
    {"restore_callback_states_from_checkpoint", "false", "there are no callbacks"},
    {"resume_from_checkpoint", "true", "the same command again goes on from the newest checkpoint; model.init_from takes weights alone"},
    {"logging_dir", "*", ""},
    {"logging_first_step", "*", ""},             // always
    {"logging_nan_inf_filter", "true", "trainx logs what is, and stops where a loss is not finite"},
    {"log_level*", "passive|warning", "trainx -q or -v"},
    {"log_on_each_node", "*", ""},
    {"disable_tqdm", "*", ""},
    {"report_to", "none|all", own_logs},
    {"project", "huggingface", own_logs},
    {"run_name", "*", ""},                       // for report_to
    {"trackio_*", "trackio", own_logs},
    {"skip_memory_metrics", "true", "metrics.jsonl has the peak of memory"},
    {"push_to_hub", "false", no_uploads},
    {"push_to_hub_*", "*", ""},
    {"hub_*", "*", ""},                          // act with push_to_hub
    {"data_seed", "", "run.seed draws the order of samples too"},
    {"dataloader_drop_last", "false", "an epoch's last samples share a step with the next epoch's first: nothing is dropped"},
    {"dataloader_pin_memory", "true", "batches always lie in pinned memory where there is a GPU"},
    {"dataloader_persistent_workers", "*", own_loader},
    {"dataloader_multiprocessing_context", "", own_loader},
    {"dataloader_in_order", "true", "batches always come in order"},
    {"length_column_name", "*", ""},
    {"remove_unused_columns", "*", ""},
    {"label_names", "", labels_in_data},
    {"accelerator_config.split_batches", "false", "batch.global_batch_size is the whole batch, micro_batch_size a rank's"},
    {"accelerator_config.dispatch_batches", "", one_gpu},
    {"accelerator_config.even_batches", "true", "nothing is repeated to make batches even"},
    {"accelerator_config.use_seedable_sampler", "true", "the order of samples always follows from run.seed"},
    {"accelerator_config.non_blocking", "*", ""},
    {"accelerator_config.gradient_accumulation_kwargs*", "", "batch says how the batch is cut"},
    {"accelerator_config.use_configured_state", "false", "there is no other state"},
    {"parallelism_config*", "", no_shards},
    {"fsdp_config*", "*", ""},                   // acts with fsdp
    {"fsdp_min_num_params", "*", ""},
    {"fsdp_transformer_layer_cls_to_wrap", "*", ""},
    {"fsdp", "false", no_shards},
    {"ddp_timeout", "1800", one_gpu},
    {"ddp_*", "", one_gpu},
    {"dispatch_batches", "", one_gpu},
    {"split_batches", "false", one_gpu},
    {"local_rank", "*", ""},
    {"_n_gpu", "*", ""},
    {"n_gpu", "*", ""},
    {"past_index", "-1", "there are no models with a past"},
    {"mp_parameters", "", no_shards},
    {"tpu_*", "false", "trainx computes on GPUs and CPUs"},
    {"use_mps_device", "false", "trainx computes on NVIDIA GPUs and CPUs"},
    {"xpu_backend", "", "trainx computes on NVIDIA GPUs and CPUs"},
    {"debug", "", "trainx train --profile N says where time goes"},
    {"do_train", "*", by_command},
    {"do_eval", "*", by_command},
    {"do_predict", "*", by_command},
    {"generation_*", "", by_command},
    {"predict_with_generate", "false", by_command},
    {"sortish_sampler", "false", "write group_by_length"},
    {"model_name_or_path", "", names_model},
    {"model_type", "", names_model},
    {"config_name", "", names_model},
    {"config_overrides", "", names_model},
    {"tokenizer_name*", "", names_model},
    {"cache_dir", "*", ""},
    {"dataset_*", "", names_data},
    {"train_file", "", names_data},
    {"validation_file", "", names_data},
    {"preprocessing_num_workers", "*", ""},
    {"overwrite_cache", "*", ""},
    {"trust_remote_code", "false", names_model},
};

constexpr std::string_view no_offload = "memory.optimizer_offload: cpu, memory.parameter_offload: cpu, memory.activation_checkpoint and precision: bf16 (its exact weights take 4 bytes, not 6) save memory";
constexpr Unmapped deepspeed[]{
    // These act with a stage, an offload device or fp16, which are listed themselves.
    {"zero_optimization.cpu_offload*", "false", no_offload},
    {"zero_optimization.stage3_*", "*", ""},
    {"zero_optimization.overlap_comm", "*", ""},
    {"zero_optimization.contiguous_gradients", "*", ""},
    {"zero_optimization.reduce_scatter", "*", ""},
    {"zero_optimization.reduce_bucket_size", "*", ""},
    {"zero_optimization.allgather_partitions", "*", ""},
    {"zero_optimization.allgather_bucket_size", "*", ""},
    {"zero_optimization.round_robin_gradients", "*", ""},
    {"zero_optimization.sub_group_size", "*", ""},
    {"zero_optimization.zero_hpz_partition_size", "1", "a second copy of weights in each node beside shards among all ranks: parallel.shard_ranks keeps all that is sharded within so many ranks"},
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
    {"zero_optimization.offload_optimizer.ratio", "*", ""},      // acts with a device
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
    {"amp*", "false", "precision: bf16 is what trainx has of mixed precision"},
    {"activation_checkpointing*", "false", "memory.activation_checkpoint says what is recomputed"},
    {"steps_per_print", "*", own_logs},
    {"wall_clock_breakdown", "*", own_logs},
    {"memory_breakdown", "*", own_logs},
    {"dump_state", "*", own_logs},
    {"tensorboard*", "false", own_logs},
    {"wandb*", "false", own_logs},
    {"csv_monitor*", "false", own_logs},
    {"flops_profiler*", "false", "trainx train --profile N says where time goes"},
    {"comms_*", "false", one_gpu},
    {"communication_data_type", "", one_gpu},
    {"gradient_predivide_factor", "1", one_gpu},
    {"prescale_gradients", "false", one_gpu},
    {"sparse_gradients", "false", "gradients are dense"},
    {"checkpoint*", "", "trainx writes its own checkpoints: section checkpoint"},
    {"data_types*", "fp32", "gradients are summed in fp32"},
    {"pipeline*", "", no_shards},
    {"tensor_parallel*", "", no_shards},
    {"autotuning*", "false", "trainx plan says beforehand what fits and how fast it is"},
    {"elasticity*", "false", one_gpu},
    {"compression_training*", "", "trainx does not compress models"},
    {"sparse_attention*", "", own_kernels},
    {"curriculum_learning*", "false", "the order of samples follows from run.seed"},
    {"data_efficiency*", "false", "the order of samples follows from run.seed"},
    {"aio*", "*", ""},
    {"nebula*", "false", "trainx writes its own checkpoints: section checkpoint"},
    {"compile*", "false", no_compiler},
    {"torch_autocast*", "false", "precision says what is computed in"},
    {"seed", "", "write it into TrainingArguments, or run.seed"},
};

constexpr Unmapped accelerate[]{
    {"compute_environment", "LOCAL_MACHINE", "trainx runs where it is started"},
    {"distributed_type", "NO|MULTI_GPU|DEEPSPEED|FSDP|MULTI_CPU", no_shards},
    {"machine_rank", "*", ""},
    {"gpu_ids", "all", "CUDA_VISIBLE_DEVICES says which GPU"},
    {"main_process_*", "", one_gpu},
    {"main_training_function", "*", ""},
    {"rdzv_*", "*", ""},
    {"same_network", "*", ""},
    {"deepspeed_hostfile", "", one_gpu},
    {"deepspeed_config.deepspeed_config_file", "", "give that file too"},
    {"deepspeed_config.deepspeed_multinode_launcher", "*", ""},
    {"deepspeed_config.deepspeed_hostfile", "", one_gpu},
    {"deepspeed_config.offload_*", "none", no_offload},
    {"deepspeed_config.zero3_*", "*", ""},       // act with zero_stage 3
    {"deepspeed_config.deepspeed_moe_layer_cls_names", "", no_shards},
    {"fsdp_config", "", no_shards},
    {"megatron_lm_config*", "", no_shards},
    {"parallelism_config*", "", no_shards},
    {"dynamo_config.dynamo_backend", "no", no_compiler},
    {"dynamo_config.dynamo_*", "*", ""},         // act with a backend
    {"dynamo_backend", "no", no_compiler},
    {"fp8_config*", "", "precision is fp32, tf32, bf16 or fp16"},
    {"downcast_bf16", "false|no", "trainx computes on GPUs and CPUs"},
    {"tpu_*", "*", ""},
    {"command*", "", "trainx runs where it is started"},
    {"commands", "", "trainx runs where it is started"},
    {"enable_cpu_affinity", "*", ""},
    {"mpirun_*", "", one_gpu},
    {"ipex_config*", "", own_kernels},
    {"use_xpu", "false", "trainx computes on NVIDIA GPUs and CPUs"},
    {"debug", "*", ""},
    {"ec2_instance_type", "", "trainx runs where it is started"},
};

bool fits(std::string_view pattern, std::string_view key) {
  if (!pattern.ends_with('*')) return pattern == key;
  return key.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::span<const Unmapped> training_arguments_unmapped() { return training_arguments; }
std::span<const Unmapped> deepspeed_unmapped() { return deepspeed; }
std::span<const Unmapped> accelerate_unmapped() { return accelerate; }

const Unmapped* find_unmapped(std::span<const Unmapped> table, std::string_view key) {
  const auto found = std::ranges::find_if(table, [&](const Unmapped& u) { return fits(u.key, key); });
  return found == table.end() ? nullptr : &*found;
}

namespace {

/// "enabled: false" of a section switches all of it off.
bool is_off(const yaml::Node& node) {
  const yaml::Entry* enabled = node.is_map() ? node.find("enabled") : nullptr;
  return enabled && is_default(enabled->value, "false");
}

}  // namespace

void leave_rest(Settings& settings, std::span<const Unmapped> table, std::string_view tool) {
  std::vector<const yaml::Entry*> rest;
  settings.for_each_rest([&](const yaml::Entry& entry) { rest.push_back(&entry); });
  for (const yaml::Entry* entry : rest) {
    const std::string path = settings.path(entry->key);
    const Unmapped* known = find_unmapped(table, path);
    if (known) {
      if (!is_default(entry->value, known->defaults) && !is_off(entry->value)) settings.leave(entry->key, std::string(known->why));
    } else if (const bool is_section = std::ranges::any_of(table, [&](const Unmapped& u) { return u.key.starts_with(path + "."); }); is_section && is_default(entry->value, "")) {
      continue;
    } else if (is_section && entry->value.is_map()) {
      Settings inner = settings.section(entry->key);
      leave_rest(inner, table, tool);
    } else {
      settings.leave(entry->key, "is no setting of " + std::string(tool) + " that trainx knows");
    }
  }
}

}  // namespace trainx::foreign
