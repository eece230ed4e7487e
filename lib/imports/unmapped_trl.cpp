#include "imports/reasons.hpp"
#include "imports/unmapped.hpp"
#include <vector>

namespace trainx::imports {
namespace {

using namespace reasons;

constexpr std::string_view cuts_ends = "trainx cuts samples at their end";

// SFTConfig, ModelConfig and ScriptArguments beside TrainingArguments.
constexpr Unmapped trl_table[]{
    {"model_init_kwargs*", "", names_model},
    {"dtype", "float32|bfloat16|auto", "precision.master says in what weights are kept"},
    {"torch_dtype", "float32|bfloat16|auto", "precision.master says in what weights are kept"},
    {"router_aux_loss_coef", "", "a model's config.json says it"},
    {"chat_template_path", "", fills_templates, true},
    {"eos_token", "<EOS_TOKEN>", own_tokenizer},
    {"pad_token", "<PAD_TOKEN>", own_tokenizer},
    {"dataset_text_field", "text", names_data},
    {"dataset_kwargs*", "", names_data},
    {"dataset_num_proc", "*", ""},
    {"dataset_train_split", "*", ""},
    {"dataset_test_split", "*", ""},
    {"dataset_config", "", names_data},
    {"dataset_streaming", "*", ""},
    {"datasets", "", names_data},
    {"streaming", "*", ""},
    {"test_split_size", "", "data.held_out holds samples of the training file out"},
    {"ignore_bias_buffers", "*", ""},
    {"truncation_mode", "keep_start", cuts_ends, true},
    {"shuffle_dataset", "false", keyed_order},
    {"packing", "false", packs_beforehand, true},
    {"packing_strategy", "*", ""},  // acts with packing
    {"eval_packing", "*", ""},
    {"padding_free", "false", packs_beforehand},
    {"pad_to_multiple_of", "*", ""},
    {"completion_only_loss", "", labels_in_data, true},
    {"assistant_only_loss", "false", labels_in_data, true},
    {"loss_type", "nll|chunked_nll", other_loss, true},
    {"bnb_4bit_*", "*", ""},  // act with load_in_4bit
    {"use_bnb_nested_quant", "*", ""},
    {"lora_task_type", "*", ""},
    {"lora_*", "*", ""},  // act with use_peft
    {"use_rslora", "*", ""},
    {"use_dora", "*", ""},
    {"num_generations", "", no_reinforcement, true},
    {"max_prompt_length", "", no_reinforcement, true},
    {"max_completion_length", "", no_reinforcement, true},
    {"precompute_ref_log_probs", "", no_reinforcement, true},
    {"reward_*", "", no_reinforcement, true},
    {"ref_model_*", "", no_reinforcement},
    {"beta", "", no_reinforcement, true},
    {"gradient_checkpointing", "*", ""},
};

}  // namespace

std::span<const Unmapped> trl_unmapped() {
  static const std::vector<Unmapped> all = [] {
    std::vector<Unmapped> both(std::begin(trl_table), std::end(trl_table));
    const auto rest = training_arguments_unmapped();
    both.insert(both.end(), rest.begin(), rest.end());
    return both;
  }();
  return all;
}

}  // namespace trainx::imports
