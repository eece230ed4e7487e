#include "imports/reasons.hpp"
#include "imports/unmapped.hpp"
#include <vector>

namespace trainx::imports {
namespace {

using namespace reasons;

constexpr std::string_view other_optimizer = "trainx has no such optimizer";

// Arguments of LLaMA-Factory beside TrainingArguments.
constexpr Unmapped llama_factory_table[]{
    {"template", "", fills_templates, true},
    {"dataset", "", names_data},
    {"dataset_dir", "*", ""},
    {"media_dir", "*", ""},
    {"eval_dataset", "",
     "trainx reads files, no data sets of other tools: name one with --eval-data"},
    {"train_on_prompt", "false", labels_in_data, true},
    {"mask_history", "false", labels_in_data, true},
    {"ignore_pad_token_for_loss", "true", labels_in_data, true},
    {"streaming", "*", ""},
    {"buffer_size", "*", ""},
    {"mix_strategy", "concat", "data.type: mixture mixes files by weights"},
    {"interleave_probs", "", "data.type: mixture mixes files by weights"},
    {"preprocessing_*", "*", ""},
    {"max_samples", "", "trainx reads the whole file: shorten the file instead"},
    {"eval_num_beams", "*", ""},
    {"eval_on_each_dataset", "false", "trainx evaluates one file"},
    {"packing", "false", packs_beforehand, true},
    {"neat_packing", "false", packs_beforehand, true},
    {"tool_format", "", fills_templates},
    {"default_system", "", fills_templates},
    {"enable_thinking", "*", fills_templates},
    {"preserve_thinking", "*", fills_templates},
    {"tokenized_path", "", own_tokenizer},
    {"data_shared_file_system", "*", ""},
    {"adapter_name_or_path", "", of_adapter},
    {"adapter_folder", "*", ""},
    {"resize_vocab", "false", "model.options.vocab_size is the size of the vocabulary"},
    {"split_special_tokens", "false", own_tokenizer},
    {"add_tokens", "", own_tokenizer},
    {"add_special_tokens", "", own_tokenizer},
    {"new_special_tokens_config*", "", own_tokenizer},
    {"init_special_tokens", "*", ""},
    {"low_cpu_mem_usage", "*", ""},
    {"rope_scaling", "", "model.options holds the dimensions of a model", true},
    {"flash_attn", "auto|fa2|sdpa", own_attention},
    {"shift_attn", "false", no_sparse_attention, true},
    {"mixture_of_depths", "", "trainx has no such models", true},
    {"use_unsloth", "*", own_kernels},
    {"use_unsloth_gc", "*", own_kernels},
    {"enable_liger_kernel", "false", own_kernels},
    {"moe_aux_loss_coef", "", "a model's config.json says it", true},
    {"use_reentrant_gc", "*", ""},
    {"upcast_layernorm", "*", ""},
    {"upcast_lmhead_output", "*", ""},
    {"train_from_scratch", "false", "without model.init_from weights are drawn", true},
    {"infer_*", "*", ""},
    {"offload_folder", "*", ""},
    {"use_kv_cache", "*", ""},
    {"use_v1_kernels", "*", ""},
    {"hf_hub_token", "*", ""},
    {"ms_hub_token", "*", ""},
    {"om_hub_token", "*", ""},
    {"print_param_status", "*", ""},
    {"quantization_*", "*", ""},  // act with quantization_bit
    {"double_quantization", "*", ""},
    {"image_*", "*", ""},
    {"video_*", "*", ""},
    {"audio_*", "*", ""},
    {"crop_to_patches", "*", ""},
    {"use_audio_in_video", "*", ""},
    {"export_*", "*", ""},
    {"vllm_*", "*", ""},
    {"sglang_*", "*", ""},
    {"use_kt", "false", own_kernels},
    {"kt_*", "*", ""},
    {"do_sample", "*", ""},
    {"temperature", "*", ""},
    {"top_p", "*", ""},
    {"top_k", "*", ""},
    {"num_beams", "*", ""},
    {"max_length", "*", ""},
    {"max_new_tokens", "*", ""},
    {"repetition_penalty", "*", ""},
    {"length_penalty", "*", ""},
    {"skip_special_tokens", "*", ""},
    {"freeze_vision_tower", "*", ""},
    {"freeze_multi_modal_projector", "*", ""},
    {"freeze_language_model", "false", by_groups, true},
    {"freeze_*", "*", ""},  // act with finetuning_type
    {"lora_*", "*", ""},
    {"loraplus_*", "*", ""},
    {"use_rslora", "*", ""},
    {"use_dora", "*", ""},
    {"pissa_*", "*", ""},
    {"additional_target", "*", ""},
    {"create_new_adapter", "*", ""},
    {"oft_*", "*", ""},
    {"module_dropout", "*", ""},
    {"pref_*", "*", ""},  // act with stage
    {"dpo_*", "*", ""},
    {"kto_*", "*", ""},
    {"ppo_*", "*", ""},
    {"simpo_gamma", "*", ""},
    {"ref_model*", "*", ""},
    {"reward_model*", "*", ""},
    {"ld_alpha", "*", ""},
    {"use_galore", "false", other_optimizer, true},
    {"galore_*", "*", ""},
    {"use_apollo", "false", other_optimizer, true},
    {"apollo_*", "*", ""},
    {"use_badam", "false", other_optimizer, true},
    {"badam_*", "*", ""},
    {"use_adam_mini", "false", other_optimizer, true},
    {"use_muon", "false", other_optimizer, true},
    {"use_llama_pro", "false", by_groups, true},
    {"use_mca", "false", no_model_parallelism},
    {"use_hyper_parallel", "false", no_model_parallelism},
    {"hyper_parallel_args*", "*", ""},
    {"use_dft_loss", "false", other_loss, true},
    {"use_asft_loss", "false", other_loss, true},
    {"use_eaft_loss", "false", other_loss, true},
    {"asft_alpha", "*", ""},
    {"eaft_alpha", "*", ""},
    {"compute_accuracy", "*", own_metrics},
    {"disable_shuffling", "false", "data.shuffle: false keeps the order of the file", true},
    {"early_stopping_steps", "", "trainx trains to the end; `best` is the checkpoint to use"},
    {"plot_loss", "*", ""},
    {"include_effective_tokens_per_second", "*", ""},
    {"use_swanlab", "false", own_logs},
    {"swanlab_*", "*", ""},
    {"ray_*", "*", ""},
    {"master_*", "*", ""},
    {"enable_torch_profiler", "false", "`trainx train --profile N` shows where time goes"},
    {"profiler_*", "*", ""},
    {"profile_modules", "*", ""},
    {"fp8", "false", precisions},
    {"fp8_*", "*", ""},
    {"device_map", "*", ""},
};

}  // namespace

std::span<const Unmapped> llama_factory_unmapped() {
  static const std::vector<Unmapped> all = [] {
    std::vector<Unmapped> both(std::begin(llama_factory_table), std::end(llama_factory_table));
    const auto rest = training_arguments_unmapped();
    both.insert(both.end(), rest.begin(), rest.end());
    return both;
  }();
  return all;
}

}  // namespace trainx::imports
