#include "recipe/synonyms.hpp"
#include "core/suggest.hpp"
#include "recipe/schema.hpp"
#include <algorithm>

namespace trainx::recipe {
namespace {

/// Words of other tools for what recipes name, in lower case; one that a key does not take is
/// passed over.
constexpr std::pair<std::string_view, std::string_view> other_words[]{
    {"bfloat16", "bf16"},
    {"torch.bfloat16", "bf16"},
    {"float16", "fp16"},
    {"torch.float16", "fp16"},
    {"half", "fp16"},
    {"float32", "fp32"},
    {"torch.float32", "fp32"},
    {"float", "fp32"},
    {"adamw_torch", "adamw"},
    {"adamw_torch_fused", "adamw"},
    {"adamw_hf", "adamw"},
    {"adamw_apex_fused", "adamw"},
    {"fusedadam", "adamw"},
    {"cpuadam", "adamw"},
    {"adamw_bnb_8bit", "adamw_8bit"},
    {"paged_adamw_8bit", "adamw_8bit"},
    {"adamw8bit", "adamw_8bit"},
    {"lion_32bit", "lion"},
    {"sdpa", "auto"},
    {"flash_attention_2", "flash"},
    {"flash_attention_3", "flash"},
    {"flash_attention", "flash"},
    {"xformers", "efficient"},
    {"mem_efficient", "efficient"},
    {"eager", "math"},
    {"fsdp", "zero3"},
    {"full_shard", "zero3"},
    {"shard_grad_op", "zero2"},
    {"hybrid_shard", "zero3"},
    {"no_shard", "ddp"},
    {"nvme", "disk"},
    {"cuda", "gpu"},
    {"cosine_with_restarts", "cosine_restarts"},
    {"constant_with_warmup", "constant"},
    {"cosine_with_min_lr", "cosine"},
    {"warmup_stable_decay", "wsd"},
    {"warmuplr", "constant"},
    {"warmupdecaylr", "linear"},
    {"warmupcosinelr", "cosine"},
    {"json", "jsonl"},
    {"tsv", "csv"},
    {"mlm", "masked_lm"},
    {"fill-mask", "masked_lm"},
    {"clm", "causal_lm"},
    {"text-generation", "causal_lm"},
    {"text-classification", "classification"},
    {"sequence_classification", "classification"},
    {"true", "full"},
    {"false", "none"},
};

}  // namespace

std::optional<std::string> name_meant(std::string_view word,
                                      const std::vector<std::string>& names) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  for (const auto& [theirs, ours] : other_words)
    if (theirs == lower && std::ranges::count(names, ours) > 0) return std::string(ours);
  return suggest(word, names);
}

const std::map<std::string_view, std::string_view>& other_names() {
  static const std::map<std::string_view, std::string_view> names{
      {"learning_rate", "optimizer.lr"},
      {"batch_size", "batch.micro_batch_size"},
      {"train_batch_size", "batch.global_batch_size"},
      {"per_device_train_batch_size", "batch.micro_batch_size"},
      {"train_micro_batch_size_per_gpu", "batch.micro_batch_size"},
      {"gradient_accumulation_steps", "batch.grad_accum_steps"},
      {"grad_acc_steps", "batch.grad_accum_steps"},
      {"accumulate_grad_batches", "batch.grad_accum_steps"},
      {"max_steps", "run.duration: N steps"},
      {"max_iters", "run.duration: N steps"},
      {"num_iterations", "run.duration: N steps"},
      {"steps", "run.duration: N steps"},
      {"epochs", "run.duration: N epochs"},
      {"num_epochs", "run.duration: N epochs"},
      {"num_train_epochs", "run.duration: N epochs"},
      {"warmup_steps", "schedule.warmup: N steps"},
      {"warmup_iters", "schedule.warmup: N steps"},
      {"lr_scheduler", "schedule.type"},
      {"scheduler", "schedule.type"},
      {"lr_scheduler_type", "schedule.type"},
      {"min_lr", "schedule.final_ratio"},
      {"learning_rate_decay_frac", "schedule.final_ratio"},
      {"grad_clip", "optimizer.max_grad_norm"},
      {"gradient_clipping", "optimizer.max_grad_norm"},
      {"clip_grad_norm", "optimizer.max_grad_norm"},
      {"betas", "optimizer.options.beta1"},
      {"adam_beta1", "optimizer.options.beta1"},
      {"adam_beta2", "optimizer.options.beta2"},
      {"adam_epsilon", "optimizer.options.eps"},
      {"block_size", "data.sequence_length"},
      {"seq_len", "data.sequence_length"},
      {"seq_length", "data.sequence_length"},
      {"max_seq_len", "data.sequence_length"},
      {"context_length", "data.sequence_length"},
      {"num_workers", "data.workers"},
      {"dataloader_num_workers", "data.workers"},
      {"prefetch_factor", "data.prefetch"},
      {"n_layer", "model.options.num_layers"},
      {"n_head", "model.options.num_heads"},
      {"n_embd", "model.options.hidden_size"},
      {"num_hidden_layers", "model.options.num_layers"},
      {"num_attention_heads", "model.options.num_heads"},
      {"n_positions", "model.options.max_positions"},
      {"n_ctx", "model.options.max_positions"},
      {"n_inner", "model.options.intermediate_size"},
      {"dtype", "precision.compute"},
      {"fp16", "precision.compute"},
      {"bf16", "precision.compute: bf16"},
      {"fp8", "precision.products: fp8"},
      {"mixed_precision", "precision.compute"},
      {"amp", "precision.compute"},
      {"gradient_checkpointing", "memory.activation_checkpoint"},
      {"recompute", "memory.activation_checkpoint"},
      {"cpu_checkpointing", "memory.activation_offload"},
      {"offload_activations", "memory.activation_offload"},
      {"activation_cpu_offload", "memory.activation_offload"},
      {"optimizer_in_bwd", "optimizer.update_in_backward"},
      {"ema", "optimizer.ema_decay"},
      {"use_ema", "optimizer.ema_decay: 0.999"},
      {"param_groups", "optimizer.groups"},
      {"parameter_groups", "optimizer.groups"},
      {"freeze", "optimizer.groups: [{match: PATTERN, freeze: true}]"},
      {"frozen", "optimizer.groups: [{match: PATTERN, freeze: true}]"},
      {"freeze_layers", "optimizer.groups: [{match: PATTERN, freeze: true}]"},
      {"unfrozen_parameters", "optimizer.groups: [{match: PATTERN, freeze: false}]"},
      {"offload_optimizer", "memory.optimizer_offload.where"},
      {"offload_optimizer_device", "memory.optimizer_offload.where"},
      {"cpu_offload", "memory.optimizer_offload.where"},
      {"optimizer_cpu_offload", "memory.optimizer_offload.where"},
      {"cpu_offload_optimizer", "memory.optimizer_offload.where"},
      {"nvme_path", "memory.optimizer_offload.folder"},
      {"offload_optimizer_nvme_path", "memory.optimizer_offload.folder"},
      {"offload_param_nvme_path", "memory.optimizer_offload.folder"},
      {"offload_param", "memory.parameter_offload"},
      {"offload_param_device", "memory.parameter_offload"},
      {"param_offload", "memory.parameter_offload"},
      {"torch_empty_cache_steps", "memory.release_cache_every: N steps"},
      {"save_steps", "checkpoint.every: N steps"},
      {"save_interval", "checkpoint.every: N steps"},
      {"save_total_limit", "checkpoint.keep_last"},
      {"eval_steps", "eval.every: N steps"},
      {"eval_interval", "eval.every: N steps"},
      {"eval_iters", "eval.batches"},
      {"max_eval_batches", "eval.batches"},
      {"metric_for_best_model", "eval.best.metric"},
      {"early_stopping", "eval.early_stopping.patience"},
      {"patience", "eval.early_stopping.patience"},
      {"early_stopping_patience", "eval.early_stopping.patience"},
      {"early_stopping_threshold", "eval.early_stopping.min_delta"},
      {"sample_every", "generate.every: N steps"},
      {"logging_steps", "metrics.every: N steps"},
      {"log_interval", "metrics.every: N steps"},
      {"out_dir", "run.output_dir"},
      {"resume_from_checkpoint", "checkpoint.resume"},
      {"label_smoothing", "model.options.label_smoothing"},
      {"label_smoothing_factor", "model.options.label_smoothing"},
      {"model_name_or_path", "model.init_from"},
      {"pretrained", "model.init_from"},
      {"train_file", "data.train"},
      {"train_path", "data.train"},
      {"val", "data.eval"},
      {"valid", "data.eval"},
      {"validation", "data.eval"},
      {"dataset", "data.train"},
      {"optim", "optimizer.type"},
      {"attn_implementation", "model.attention"},
      {"fsdp", "parallel.mode: zero3"},
      {"zero_stage", "parallel.mode"},
      {"zero_optimization", "parallel.mode"},
      {"ddp_timeout", "run.hang_limit: N s"},
      {"report_to", "metrics.tensorboard"},
      {"tf32", "precision.compute: tf32"},
      {"auto_find_batch_size", "memory.fit"},
      {"communication_data_type", "precision.reduce"},
      {"base_model", "model.init_from"},
      {"sequence_len", "data.sequence_length"},
      {"task_name", "model.options.task"},
      {"enable_activation_checkpointing", "memory.activation_checkpoint"},
      {"enable_activation_offloading", "memory.activation_offload"}};
  return names;
}

std::optional<std::string> key_meant(std::string_view section, std::string_view key) {
  if (const auto found = other_names().find(key); found != other_names().end())
    return std::string(found->second);
  std::optional<std::string> elsewhere;
  for (const FieldHelp& field : schema_keys()) {
    const std::size_t dot = field.key.rfind('.');
    if (field.key.starts_with("optimizer.groups[]")) continue;  // the optimizer's own are meant
    if (dot == std::string::npos || std::string_view(field.key).substr(dot + 1) != key ||
        std::string_view(field.key).substr(0, dot) == section)
      continue;
    if (elsewhere && *elsewhere != field.key) return std::nullopt;  // several: none is the one
    elsewhere = field.key;
  }
  return elsewhere;
}

}  // namespace trainx::recipe
