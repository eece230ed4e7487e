// Adapters in the files of every tool that has them.
#include "unit/imports/support.hpp"
#include <algorithm>

namespace trainx::imports::adapters_test {

using namespace testing;

namespace {

using Becomes = std::vector<std::pair<std::string, std::string>>;

Choices of(const std::string& model_type) {
  Choices choices = all_chosen();
  choices.model_type = model_type;
  return choices;
}

std::string without(const std::map<std::string, std::string>& recipe, const std::string& key) {
  return recipe.contains(key) ? recipe.at(key) : "null";
}

void becomes(const std::string& text, const Becomes& wanted, const std::string& type = "llama") {
  const Imported imported = import_settings({{"f", text}}, of(type));
  INFO(text << "\n" << lines(imported.leftovers));
  const auto recipe = recipe_of(imported);
  for (const auto& [key, value] : wanted) {
    INFO(key);
    CHECK(without(recipe, key) == value);
  }
}

/// Keys that are left, those that change training alone.
std::vector<std::string> differing(const std::string& text, const std::string& type = "llama") {
  std::vector<std::string> keys;
  for (const Leftover& l : import_settings({{"f", text}}, of(type)).leftovers)
    if (l.differs) keys.push_back(l.key);
  return keys;
}

using Keys = std::vector<std::string>;

const std::string trl = "model_name_or_path: x/y\nlearning_rate: 2e-4\noutput_dir: out\nuse_peft: ";
const std::string factory =
    "stage: sft\ndo_train: true\ntemplate: llama3\noutput_dir: out\nbf16: true\n";
const std::string axolotl =
    "base_model: x/y\nmicro_batch_size: 1\nnum_epochs: 1\nlearning_rate: 1e-4\n";
const std::string tune =
    "batch_size: 1\nepochs: 1\noptimizer: {_component_: torch.optim.AdamW, lr: 1e-4}\n";

}  // namespace

TEST_CASE("TRL's adapters have its defaults") {
  becomes(trl + "true\n", {{"model.adapter.type", "lora"},
                           {"model.adapter.rank", "16"},
                           {"model.adapter.alpha", "32"},
                           {"model.adapter.dropout", "0.05"},
                           {"model.adapter.targets", "[q_proj, v_proj]"},
                           {"precision.compute", "bf16"},
                           {"memory.activation_checkpoint", "full"},
                           {"metrics.every", "10 steps"},
                           {"optimizer.lr", "2e-4"}});
  becomes(trl +
              "true\nlora_r: 32\nlora_alpha: 16\nlora_dropout: 0.1\nuse_rslora: true\n"
              "lora_target_modules: [q_proj, 'model.layers.0.mlp.up_proj']\n"
              "lora_modules_to_save: [lm_head]\n",
          {{"model.adapter.rank", "32"},
           {"model.adapter.alpha", "16"},
           {"model.adapter.dropout", "0.1"},
           {"model.adapter.rslora", "true"},
           {"model.adapter.targets", "[q_proj, model.layers.0.mlp.up_proj]"},
           {"model.adapter.modules_to_save", "[lm_head]"}});
  for (const std::string all : {"all-linear", "[all-linear]"})
    becomes(trl + "true\nlora_target_modules: " + all + "\n",
            {{"model.adapter.targets", "all_linear"}});
  becomes(trl + "false\nlora_r: 32\n", {{"model.adapter.type", "none"}});
}

TEST_CASE("TRL's arguments have other defaults than transformers'") {
  const std::string silent = "dataset_text_field: text\noutput_dir: out\n";
  becomes(silent, {{"precision.compute", "bf16"},
                   {"optimizer.lr", "2e-5"},
                   {"memory.activation_checkpoint", "full"}});
  becomes(silent + "bf16: false\ngradient_checkpointing: false\n",
          {{"precision.compute", "fp32"}, {"memory.activation_checkpoint", "none"}});
  Choices no_length = of("llama");
  no_length.sequence_length.reset();
  CHECK(recipe_of(import_settings({{"f", silent}}, no_length)).at("data.sequence_length") ==
        "1024");
  CHECK(differing(silent + "loss_type: dft\npacking: true\nassistant_only_loss: true\n") ==
        Keys{"loss_type", "packing", "assistant_only_loss"});
  CHECK(differing(silent + "loss_type: nll\npacking: false\nassistant_only_loss: false\n").empty());
  CHECK(differing(trl + "true\nuse_dora: true\nload_in_8bit: true\n") ==
        Keys{"use_dora", "load_in_8bit"});
}

TEST_CASE("targets that are left to PEFT are those of the model's type") {
  becomes(trl + "true\n", {{"model.adapter.targets", "[c_attn]"}}, "gpt2");
  const Imported unknown = import_settings({{"f", trl + "true\n"}}, of("qwen3_moe"));
  CHECK(std::ranges::count(unknown.asked, "model.adapter.targets",
                           &std::pair<std::string, std::string>::first) == 1);
}

TEST_CASE("LLaMA-Factory trains LoRA unless its file says otherwise") {
  becomes(factory, {{"model.adapter.type", "lora"},
                    {"model.adapter.rank", "8"},
                    {"model.adapter.alpha", "null"},  // twice the rank
                    {"model.adapter.dropout", "0"},
                    {"model.adapter.targets", "all_linear"},
                    {"memory.activation_checkpoint", "full"},
                    {"optimizer.lr", "5e-5"}});
  becomes(factory +
              "finetuning_type: lora\nlora_rank: 4\nlora_alpha: 6\nlora_dropout: 0.2\n"
              "lora_target: q_proj, W_pack\nadditional_target: embed_tokens,lm_head\n"
              "disable_gradient_checkpointing: true\n",
          {{"model.adapter.rank", "4"},
           {"model.adapter.alpha", "6"},
           {"model.adapter.dropout", "0.2"},
           {"model.adapter.targets", "[q_proj, W_pack]"},
           {"model.adapter.modules_to_save", "[embed_tokens, lm_head]"},
           {"memory.activation_checkpoint", "none"}});
  becomes(factory + "finetuning_type: full\nlora_rank: 8\n", {{"model.adapter.type", "none"}});
  becomes(factory + "adapter_name_or_path: saves/one\nlora_rank: 4\n",
          {{"model.adapter.type", "lora"},
           {"model.adapter.init_from", "saves/one"},
           {"model.adapter.rank", "null"},
           {"model.adapter.targets", "null"}});
  CHECK(differing(factory + "finetuning_type: oft\n") == Keys{"template", "finetuning_type"});
  CHECK(differing(factory + "finetuning_type: freeze\n") == Keys{"template", "finetuning_type"});
  CHECK(differing(factory + "use_dora: true\nquantization_bit: 4\n") ==
        Keys{"template", "use_dora", "quantization_bit"});
  CHECK(differing("stage: dpo\nfinetuning_type: full\noutput_dir: o\n") == Keys{"stage"});
  // All linear layers of a mixture: its experts are none to LLaMA-Factory.
  CHECK(differing(factory, "qwen3_moe") == Keys{"lora_target", "template"});
  Choices no_length = of("llama");
  no_length.sequence_length.reset();
  CHECK(recipe_of(import_settings({{"f", factory + "max_length: 7\n"}}, no_length))
            .at("data.sequence_length") == "2048");
}

TEST_CASE("Axolotl's adapters") {
  becomes(axolotl +
              "adapter: lora\nlora_r: 8\nlora_alpha: 16\nlora_target_modules:\n  - q_proj\n"
              "  - down_proj\npeft_use_rslora: true\npeft_layers_to_transform: [0, 2]\n"
              "lora_modules_to_save: [embed_tokens]\nlora_rank_pattern: {down_proj: 4}\n",
          {{"model.adapter.type", "lora"},
           {"model.adapter.rank", "8"},
           {"model.adapter.alpha", "16"},
           {"model.adapter.dropout", "0"},
           {"model.adapter.rslora", "true"},
           {"model.adapter.targets", "[q_proj, down_proj]"},
           {"model.adapter.layers", "[0, 2]"},
           {"model.adapter.modules_to_save", "[embed_tokens]"},
           {"model.adapter.rank_pattern", "{down_proj: 4}"}});
  becomes(axolotl +
              "adapter: lora\nlora_target_modules: [q_proj]\npeft_ensure_weight_tying: true\n"
              "peft_trainable_token_indices: {embed_tokens: [5, 6]}\n",
          {{"model.adapter.trainable_token_indices", "{embed_tokens: [5, 6]}"},
           {"model.adapter.ensure_weight_tying", "true"}});
  becomes(axolotl + "adapter: lora\nlora_target_modules: '.*\\.(q|k)_proj'\n",
          {{"model.adapter.targets", "\".*\\\\.(q|k)_proj\""}});
  becomes(axolotl + "adapter: lora\nlora_model_dir: ./out\n",
          {{"model.adapter.init_from", "./out"}, {"model.adapter.targets", "null"}});
  CHECK(differing(axolotl + "adapter: llama-adapter\n") == Keys{"adapter"});
  CHECK(differing(axolotl + "adapter: lora\nlora_target_linear: true\npeft_use_dora: true\n"
                            "loraplus_lr_ratio: 16\nrelora: true\n") ==
        Keys{"peft_use_dora", "loraplus_lr_ratio", "relora"});
}

TEST_CASE("torchtune's adapters are named as transformers names layers") {
  becomes(tune +
              "model:\n  _component_: torchtune.models.llama3_2.lora_llama3_2_1b\n"
              "  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']\n"
              "  apply_lora_to_mlp: True\n  apply_lora_to_output: True\n  lora_rank: 64\n"
              "  lora_alpha: 128\n  lora_dropout: 0.1\n",
          {{"model.adapter.type", "lora"},
           {"model.adapter.rank", "64"},
           {"model.adapter.alpha", "128"},
           {"model.adapter.dropout", "0.1"},
           {"model.adapter.targets",
            "[q_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, lm_head]"}});
  becomes(tune +
              "model:\n  _component_: torchtune.models.phi3.lora_phi3_mini\n"
              "  lora_attn_modules: [q_proj, k_proj, v_proj]\n  apply_lora_to_mlp: True\n",
          {{"model.adapter.rank", "8"},
           {"model.adapter.alpha", "16"},
           {"model.adapter.targets", "[qkv_proj, gate_up_proj, down_proj]"}});
  const std::string part = tune +
                           "model:\n  _component_: torchtune.models.phi3.qlora_phi3_mini\n"
                           "  lora_attn_modules: [q_proj, output_proj]\n  use_dora: True\n";
  const auto differ = differing(part);
  for (const char* key : {"model.lora_attn_modules", "model.use_dora", "model._component_"})
    CHECK(std::ranges::count(differ, key) >= 1);
}

TEST_CASE("PEFT's settings become an adapter, alone, beside arguments and inside them") {
  const std::string peft =
      R"({"peft_type": "LORA", "r": 4, "lora_alpha": 6, "lora_dropout": 0.5, "use_rslora": true,
          "target_modules": ["q_proj"], "exclude_modules": ".*\\.0\\..*", "layers_to_transform": 1,
          "target_parameters": null, "alpha_pattern": {"a.b": 3}, "bias": "none", "inference_mode": true,
          "init_lora_weights": true, "loftq_config": {}, "megatron_core": "megatron.core"})";
  const Becomes wanted{{"model.adapter.type", "lora"},
                       {"model.adapter.rank", "4"},
                       {"model.adapter.alpha", "6"},
                       {"model.adapter.dropout", "0.5"},
                       {"model.adapter.rslora", "true"},
                       {"model.adapter.targets", "[q_proj]"},
                       {"model.adapter.exclude", "\".*\\\\.0\\\\..*\""},
                       {"model.adapter.layers", "[1]"},
                       {"model.adapter.alpha_pattern", "{a.b: 3}"}};
  const std::string arguments = R"({"output_dir": "o", "max_steps": 3, "learning_rate": 1e-4})";
  const Imported beside = import_settings({{"a", arguments}, {"p", peft}}, of("llama"));
  INFO(lines(beside.leftovers));
  CHECK(beside.leftovers.empty());
  const auto recipe = recipe_of(beside);
  for (const auto& [key, value] : wanted) CHECK(without(recipe, key) == value);
  becomes(arguments.substr(0, arguments.size() - 1) + ", \"peft_config\": " + peft + "}", wanted);
  CHECK(differing(R"({"output_dir": "o", "max_steps": 3, "peft_config": {"peft_type": "LORA",
      "use_dora": true, "bias": "all", "target_modules": "all-linear", "init_lora_weights": "pissa"}})") ==
        Keys{"peft_config.use_dora", "peft_config.bias", "peft_config.init_lora_weights"});
  CHECK(differing(R"({"output_dir": "o", "max_steps": 3, "peft_config": {"peft_type": "IA3"}})") ==
        Keys{"peft_config.peft_type"});
}

TEST_CASE("values of adapters that are none are refused by place") {
  for (const std::string& text :
       {trl + "maybe\n", trl + "true\nlora_r: many\n", trl + "true\nlora_target_modules: {a: b}\n",
        trl + "true\nlora_target_modules: [[a]]\n",
        axolotl + "adapter: lora\nlora_target_linear: true\nlora_rank_pattern: 3\n",
        axolotl + "adapter: lora\nlora_target_linear: true\npeft_layers_to_transform: [x]\n"})
    CHECK_THROWS_AS(import_settings({{"f", text}}, of("llama")), UserError);
}

}  // namespace trainx::imports::adapters_test
