#include "imports/registry.hpp"
#include "unit/imports/support.hpp"
#include <algorithm>

namespace trainx::imports::axolotl_test {

using namespace testing;

namespace {

/// As its examples fine-tune a Llama by QLoRA, with values of our own.
const std::string qlora = R"(base_model: mistralai/Mixtral-8x7B-v0.1
load_in_8bit: false
load_in_4bit: true
datasets:
  - path: yahma/alpaca-cleaned
    type: alpaca
dataset_prepared_path: prepared
val_set_size: 0.05
output_dir: ./outputs/qlora-out
adapter: qlora
lora_model_dir:
sequence_len: 4096
sample_packing: true
lora_r: 16
lora_alpha: 32
lora_target_linear: true
wandb_project:
wandb_entity:
gradient_accumulation_steps: 4
micro_batch_size: 2
num_epochs: 3
optimizer: adamw_bnb_8bit
lr_scheduler: cosine
learning_rate: 0.0002
bf16: auto
tf32: false
gradient_checkpointing: true
resume_from_checkpoint:
logging_steps: 1
flash_attention: true
warmup_ratio: 0.1
evals_per_epoch: 4
saves_per_epoch: 2
weight_decay: 0.01
special_tokens:
  pad_token: "<|end_of_text|>"
)";

}  // namespace

TEST_CASE("an Axolotl recipe of QLoRA becomes one of LoRA, what it cannot be comes first") {
  const Imported imported = import_settings({{"f", qlora}}, all_chosen());
  const auto r = recipe_of(imported);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"run.duration", "3 epochs"},
           {"run.name", "qlora-out"},
           {"run.output_dir", "./outputs"},
           {"batch.global_batch_size", "8"},
           {"batch.micro_batch_size", "2"},
           {"batch.grad_accum_steps", "auto"},
           {"optimizer.type", "adamw_8bit"},
           {"optimizer.lr", "2e-4"},
           {"optimizer.options.weight_decay", "0.01"},
           {"optimizer.options.embeddings_32bit", "true"},
           {"schedule.type", "cosine"},
           {"schedule.warmup", "0.3 epochs"},
           {"precision.compute", "bf16"},
           {"memory.activation_checkpoint", "full"},
           {"metrics.every", "1 step"},
           {"checkpoint.every", "0.5 epochs"},
           {"checkpoint.keep_last", "4"},
           {"eval.every", "0.25 epochs"},
           {"model.adapter.type", "lora"},
           {"model.adapter.rank", "16"},
           {"model.adapter.alpha", "32"},
           {"model.adapter.targets", "all_linear"}}) {
    INFO(key);
    const bool is_derived = key == "batch.grad_accum_steps";
    if (!is_derived) CHECK(r.at(key) == value);
  }
  INFO(lines(imported.leftovers));
  // Quantized: another training.
  REQUIRE(imported.leftovers.size() > 3);
  CHECK(imported.leftovers[0].key == "load_in_4bit");
  for (std::size_t i = 0; i < imported.leftovers.size(); ++i)
    CHECK(imported.leftovers[i].differs == (i < 1));
  const auto names = [&](const char* key) {
    return std::ranges::count(imported.leftovers, key, &Leftover::key) > 0;
  };
  for (const char* key : {"datasets", "sample_packing", "flash_attention", "special_tokens"}) {
    INFO(key);
    CHECK(names(key));
  }
  CHECK(names("val_set_size"));  // stories have held-out samples of their own
  for (const char* key : {"wandb_project", "adapter", "lora_r", "lora_target_linear"})
    CHECK_FALSE(names(key));
  CHECK(imported.recipe.find("# NOT MAPPED") < imported.recipe.find("# Not mapped"));
}

TEST_CASE("what Axolotl does where its recipe is silent is written out") {
  check(
      {"base_model: gpt2\nlearning_rate: 1e-4\nmicro_batch_size: 4\nbatch_size: 8\nmax_steps: "
       "200\n",
       {{"run.duration", "200 steps"},
        {"batch.global_batch_size", "8"},
        {"batch.micro_batch_size", "4"},
        {"schedule.type", "cosine"},
        {"schedule.warmup", "6 steps"},
        {"precision.compute", "bf16"},
        {"metrics.every", "1 step"},
        {"optimizer.options.weight_decay", "0"},
        {"checkpoint.every", "1 epoch"}},
       {"base_model: gpt2: "}});
}

TEST_CASE("Axolotl's settings of precision, memory and intervals") {
  const std::string run =
      "base_model: gpt2\nlearning_rate: 1e-4\nmicro_batch_size: 2\nmax_steps: 100\nwarmup_steps: "
      "5\n";
  const std::string model = "base_model: gpt2: ";
  for (const Case& c : std::vector<Case>{
           {run + "bf16: true\ntf32: true\n",
            {{"precision.compute", "bf16"}},
            {model, "tf32: true: "}},
           {run + "bf16: false\nfp16: true\n", {{"precision.compute", "fp16"}}, {model}},
           {run + "bf16:\ntf32: true\n", {{"precision.compute", "tf32"}}, {model}},
           {run + "bf16: false\n", {{"precision.compute", "fp32"}}, {model}},
           {run + "gradient_checkpointing: offload\n",
            {{"memory.activation_checkpoint", "full"}, {"memory.activation_offload", "cpu"}},
            {model}},
           {run +
                "save_steps: 0.25\nsave_total_limit: 2\nlogging_steps: 20\nuse_tensorboard: true\n",
            {{"checkpoint.every", "25 steps"},
             {"checkpoint.keep_last", "2"},
             {"metrics.every", "20 steps"},
             {"metrics.tensorboard", "true"}},
            {model}},
           {run + "lr_scheduler: cosine\ncosine_min_lr_ratio: 0.1\n",
            {{"schedule.final_ratio", "0.1"}},
            {model}},
           {run + "optimizer: sgd\noptim_args: {momentum: 0.9}\n",
            {{"optimizer.type", "sgd"}, {"optimizer.options.momentum", "0.9"}},
            {model}},
           {run + "fsdp: [full_shard, auto_wrap]\nfsdp_config:\n  fsdp_offload_params: true\n  "
                  "fsdp_state_dict_type: FULL_STATE_DICT\n",
            {{"parallel.mode", "zero3"},
             {"memory.optimizer_offload.where", "cpu"},
             {"memory.parameter_offload", "cpu"}},
            {model}},
           {run + "rl: dpo\nneftune_noise_alpha: 5\nsequence_len: 256\nunheard_of: 1\n",
            {},
            {model, "rl: dpo: ", "neftune_noise_alpha: 5: ", "unheard_of: 1: "}},
           {run + "wandb_project: mine\nwandb_name: x\nhub_model_id: me/it\n",
            {},
            {model, "wandb_project: mine: ", "hub_model_id: me/it: "}}}) {
    Case sorted = c;
    std::ranges::stable_partition(sorted.left, [](const std::string& l) {
      return l.starts_with("rl:") || l.starts_with("neftune");
    });
    check(sorted);
  }
}

TEST_CASE("held-out shares of Axolotl go to data.held_out where recipes have it") {
  Choices choices = all_chosen();
  choices.data_type = "text";
  choices.train = "t.txt";
  const Imported imported =
      import_settings({{"f",
                        "base_model: gpt2\nlearning_rate: 1e-4\nmicro_batch_size: 2\nval_set_size: "
                        "0.1\nearly_stopping_patience: 3\n"}},
                      choices);
  INFO(imported.recipe);
  const bool is_there = imported.recipe.find("held_out: 10 %") != std::string::npos;
  CHECK(is_there == has_key("data.held_out"));
  CHECK((imported.recipe.find("patience: 3") != std::string::npos) ==
        (has_key("data.held_out") && has_key("eval.early_stopping.patience")));
  CHECK((lines(imported.leftovers).find("val_set_size") != std::string::npos) == !is_there);
}

TEST_CASE("Axolotl goes with DeepSpeed's file") {
  const SourceFile axolotl{"a.yaml",
                           "base_model: gpt2\nlearning_rate: 1e-4\nmicro_batch_size: 2\nmax_steps: "
                           "10\ndeepspeed: zero2.json\n"};
  const SourceFile deepspeed{
      "zero2.json",
      R"({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}})"};
  const Imported imported = import_settings({axolotl, deepspeed}, all_chosen());
  CHECK(recipe_of(imported).at("parallel.mode") == "zero2");
  CHECK(lines(imported.leftovers).find("deepspeed") == std::string::npos);
  CHECK(refusal({axolotl, {"t.json", R"({"num_train_epochs": 1})"}}).find("Axolotl") !=
        std::string::npos);
}

}  // namespace trainx::imports::axolotl_test
