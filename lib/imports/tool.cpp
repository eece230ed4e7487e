#include "imports/tool.hpp"
#include "core/error.hpp"
#include "imports/unmapped.hpp"
#include <algorithm>
#include <optional>
#include <span>

namespace trainx::imports {
namespace {

using Keys = std::span<const std::string_view>;

// Keys that become something in a recipe; those in the tables of unmapped ones count as well.
constexpr std::string_view of_training_arguments[]{"num_train_epochs",
                                                   "max_steps",
                                                   "output_dir",
                                                   "full_determinism",
                                                   "use_cpu",
                                                   "no_cuda",
                                                   "per_device_train_batch_size",
                                                   "per_gpu_train_batch_size",
                                                   "gradient_accumulation_steps",
                                                   "gradient_checkpointing",
                                                   "activation_checkpointing",
                                                   "bf16",
                                                   "fp16",
                                                   "tf32",
                                                   "no_tf32",
                                                   "optim",
                                                   "learning_rate",
                                                   "max_grad_norm",
                                                   "label_smoothing_factor",
                                                   "weight_decay",
                                                   "adam_beta1",
                                                   "adam_beta2",
                                                   "adam_epsilon",
                                                   "optim_args",
                                                   "warmup_steps",
                                                   "warmup_ratio",
                                                   "lr_scheduler_type",
                                                   "lr_scheduler_kwargs",
                                                   "logging_strategy",
                                                   "logging_steps",
                                                   "save_strategy",
                                                   "save_steps",
                                                   "save_total_limit",
                                                   "eval_strategy",
                                                   "evaluation_strategy",
                                                   "evaluate_during_training",
                                                   "eval_steps",
                                                   "bf16_full_eval",
                                                   "fp16_full_eval",
                                                   "dataloader_num_workers",
                                                   "dataloader_prefetch_factor",
                                                   "group_by_length",
                                                   "train_sampling_strategy",
                                                   "deepspeed",
                                                   "fsdp",
                                                   "ddp_timeout",
                                                   "report_to",
                                                   "auto_find_batch_size",
                                                   "torch_empty_cache_steps",
                                                   "overwrite_output_dir",
                                                   "do_eval",
                                                   "metric_for_best_model",
                                                   "greater_is_better"};
constexpr std::string_view of_deepspeed[]{"train_batch_size",
                                          "train_micro_batch_size_per_gpu",
                                          "zero_optimization",
                                          "gradient_clipping",
                                          "steps_per_print",
                                          "wall_clock_breakdown",
                                          "zero_allow_untested_optimizer",
                                          "bfloat16",
                                          "amp",
                                          "flops_profiler",
                                          "comms_logger",
                                          "communication_data_type",
                                          "prescale_gradients",
                                          "elasticity",
                                          "zero_force_ds_cpu_optimizer",
                                          "gradient_predivide_factor",
                                          "sparse_gradients",
                                          "csv_monitor"};
constexpr std::string_view of_accelerate[]{"compute_environment",
                                           "distributed_type",
                                           "mixed_precision",
                                           "num_processes",
                                           "num_machines",
                                           "machine_rank",
                                           "main_training_function",
                                           "rdzv_backend",
                                           "same_network",
                                           "deepspeed_config",
                                           "downcast_bf16",
                                           "dynamo_config",
                                           "gpu_ids",
                                           "main_process_ip",
                                           "main_process_port",
                                           "megatron_lm_config",
                                           "tpu_use_cluster",
                                           "enable_cpu_affinity"};
constexpr std::string_view of_axolotl[]{
    "base_model",      "datasets",        "sequence_len",          "micro_batch_size",
    "num_epochs",      "val_set_size",    "sample_packing",        "adapter",
    "lora_r",          "load_in_8bit",    "load_in_4bit",          "evals_per_epoch",
    "saves_per_epoch", "flash_attention", "dataset_prepared_path", "chat_template",
    "wandb_project",   "special_tokens",  "pretraining_dataset",   "pad_to_sequence_len",
    "train_on_inputs"};

// Beside TrainingArguments in these tools' files. One of TRL's is enough; of LLaMA-Factory's two
// are, or the first.
constexpr std::string_view of_trl[]{"use_peft",
                                    "assistant_only_loss",
                                    "completion_only_loss",
                                    "packing",
                                    "packing_strategy",
                                    "eval_packing",
                                    "padding_free",
                                    "dataset_text_field",
                                    "chat_template_path",
                                    "lora_task_type",
                                    "num_generations",
                                    "max_prompt_length",
                                    "precompute_ref_log_probs"};
constexpr std::string_view of_llama_factory[]{"finetuning_type",
                                              "stage",
                                              "template",
                                              "cutoff_len",
                                              "lora_target",
                                              "lora_rank",
                                              "dataset_dir",
                                              "mask_history",
                                              "neat_packing",
                                              "train_on_prompt",
                                              "quantization_bit",
                                              "plot_loss",
                                              "use_dft_loss",
                                              "additional_target",
                                              "flash_attn",
                                              "dataset",
                                              "adapter_name_or_path"};

// Known to these tools as well as to TrainingArguments.
constexpr std::string_view shared[]{"gradient_accumulation_steps",
                                    "use_cpu",
                                    "fp16",
                                    "bf16",
                                    "optimizer",
                                    "scheduler",
                                    "fsdp_config"};

// In files of many kinds: such a key counts beside others, but says nothing alone.
constexpr std::string_view common[]{"seed",
                                    "debug",
                                    "project",
                                    "run_name",
                                    "use_cache",
                                    "model_type",
                                    "config_name",
                                    "cache_dir",
                                    "config_overrides",
                                    "tokenizer_name",
                                    "train_file",
                                    "validation_file",
                                    "test_file",
                                    "token",
                                    "label_names",
                                    "past_index",
                                    "local_rank",
                                    "n_gpu",
                                    "block_size",
                                    "max_seq_length",
                                    "max_length",
                                    "task_name",
                                    "trust_remote_code",
                                    "model_revision",
                                    "model_name_or_path",
                                    "use_auth_token",
                                    "use_fast_tokenizer",
                                    "attn_implementation",
                                    "dataset_name",
                                    "dataset_config_name",
                                    "dataset_*",
                                    "generation_*",
                                    "hub_*",
                                    "tpu_*",
                                    "tokenizer_name*",
                                    "log_level*"};

bool has(Keys keys, std::string_view key) { return std::ranges::count(keys, key) > 0; }

std::size_t count(const yaml::Node& root, Keys keys) {
  return static_cast<std::size_t>(
      std::ranges::count_if(root.entries, [&](const yaml::Entry& e) { return has(keys, e.key); }));
}

struct Score {
  std::size_t own = 0, known = 0;  // keys that no other file has, and all that the tool knows
};

Score score(const yaml::Node& root, Tool tool) {
  static constexpr Keys marks[]{of_training_arguments, of_deepspeed, of_accelerate};
  const auto table = tool == Tool::training_arguments ? training_arguments_unmapped()
                     : tool == Tool::deepspeed        ? deepspeed_unmapped()
                                                      : accelerate_unmapped();
  Score score;
  for (const yaml::Entry& entry : root.entries) {
    const std::string_view key = entry.key;
    const bool is_precision = key == "bf16" || key == "fp16" || key == "activation_checkpointing";
    const bool is_part = key == "optimizer" || key == "scheduler";  // DeepSpeed's: {type, params}
    bool is_own = has(marks[static_cast<std::size_t>(tool)], key);
    if (is_precision)
      is_own = tool == (entry.value.is_map() ? Tool::deepspeed : Tool::training_arguments);
    if (is_part)
      is_own = tool == Tool::deepspeed && entry.value.is_map() && entry.value.find("type");
    const Unmapped* unmapped = find_unmapped(table, key);
    const bool is_common = has(common, key) || (unmapped && has(common, unmapped->key));
    const bool is_arguments = tool == Tool::training_arguments;
    is_own = is_own || (is_arguments && !is_precision && unmapped && !is_common);
    score.own += is_own;
    score.known += is_own || is_common || unmapped || (!is_arguments && has(shared, key));
  }
  return score;
}

bool has_component(const yaml::Node& node) {
  return std::ranges::any_of(node.entries, [](const yaml::Entry& e) {
    return e.value.is_map() && e.value.find("_component_");
  });
}

[[noreturn]] void refuse(const yaml::Node& root, const std::string& file, const std::string& what) {
  std::string begins;
  for (std::size_t i = 0; i < std::min<std::size_t>(root.entries.size(), 3); ++i)
    begins += (i ? ", " : "; it begins with ") + yaml::excerpt(root.entries[i].key);
  throw UserError(ExitCode::bad_data, file + ": " + what + begins);
}

}  // namespace

Tool tool_of(const yaml::Node& root, const std::string& file) {
  if (has_component(root)) return Tool::torchtune;
  if (root.find("peft_type")) return Tool::peft;
  if (root.find("base_model")) return Tool::axolotl;
  if (root.find("finetuning_type") || count(root, of_llama_factory) >= 2)
    return Tool::llama_factory;
  if (count(root, of_trl) >= 1) return Tool::trl;
  if (count(root, of_axolotl) >= 2) return Tool::axolotl;
  if (root.find("log_history") && root.find("global_step"))
    refuse(root, file, "is the state of transformers' Trainer, which holds no settings");
  std::optional<Tool> best;
  Score most;
  for (const Tool tool : {Tool::training_arguments, Tool::deepspeed, Tool::accelerate}) {
    const Score s = score(root, tool);
    if (s.own == 0 || (best && std::pair(s.known, s.own) <= std::pair(most.known, most.own)))
      continue;
    best = tool;
    most = s;
  }
  // A few of its keys among many others are chance.
  if (best && 3 * most.known >= root.entries.size()) return *best;
  refuse(
      root, file,
      "has the keys of no tool that trainx imports: TrainingArguments, TRL, LLaMA-Factory, PEFT, "
      "DeepSpeed, Accelerate, Axolotl or torchtune");
}

}  // namespace trainx::imports
