#include "imports/tool.hpp"
#include "core/error.hpp"
#include "imports/document.hpp"
#include "support/catch.hpp"

namespace trainx::imports::tool_test {
namespace {

std::string_view tool_of_text(const std::string& text) {
  try {
    return tool_names[static_cast<std::size_t>(tool_of(read_document(text, "f"), "f"))];
  } catch (const UserError& e) {
    CHECK(e.code() == ExitCode::bad_data);
    CHECK(std::string(e.what()).starts_with("f: "));
    return "refused";
  }
}

}  // namespace

TEST_CASE("a single key of TrainingArguments is enough") {
  for (const char* text : {R"({"tf32": true})",
                           R"({"torch_compile": true})",
                           R"({"gradient_accumulation_steps": 4})",
                           R"({"dataloader_pin_memory": true, "dataloader_num_workers": 4})",
                           R"({"no_tf32": true})",
                           R"({"fp16_full_eval": true, "eval_strategy": "steps"})",
                           R"({"deepspeed": "ds_config.json"})",
                           R"({"fp16": true})",
                           R"({"bf16": true})",
                           R"({"optim": "adafactor"})",
                           R"({"fsdp": "full_shard"})",
                           R"({"auto_find_batch_size": true})",
                           R"({"torch_empty_cache_steps": 4})",
                           R"({"report_to": "none"})",
                           R"({"overwrite_output_dir": true})",
                           R"({"ddp_timeout": 60})",
                           R"({"label_smoothing_factor": 0.1})",
                           R"({"gradient_checkpointing": true})",
                           R"({"task_name": "mrpc", "per_device_train_batch_size": 8})",
                           "learning_rate: 1e-4\nnum_train_epochs: 2\n"}) {
    INFO(text);
    CHECK(tool_of_text(text) == "TrainingArguments");
  }
}

TEST_CASE("files of the other tools are told by their own keys") {
  for (const auto& [text, tool] : std::vector<std::pair<std::string, std::string>>{
           {R"({"zero_optimization": {"stage": 2}})", "DeepSpeed"},
           {R"({"fp16": {"enabled": true}})", "DeepSpeed"},
           {R"({"optimizer": {"type": "Adam", "params": {}}, "gradient_accumulation_steps": 2})",
            "DeepSpeed"},
           {"compute_environment: LOCAL_MACHINE\nuse_cpu: true\ndebug: false\n", "Accelerate"},
           {"distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\n", "Accelerate"},
           {"base_model: gpt2\n", "Axolotl"},
           {"micro_batch_size: 2\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 1e-4\n",
            "Axolotl"},
           {"optimizer:\n  _component_: torch.optim.AdamW\n  lr: 2e-5\nepochs: 1\nbatch_size: 4\n",
            "torchtune"},
           {"output_dir: /tmp/x\nlearning_rate: 1\ntokenizer: {_component_: torchtune.models.t}\n",
            "torchtune"}}) {
    INFO(text);
    CHECK(tool_of_text(text) == tool);
  }
}

TEST_CASE("files of other kinds are refused") {
  for (
      const char* text :
      {R"({"foo": 1, "bar": 2})", "{}",
       // A model's and a tokenizer's configuration, a package, the Trainer's state.
       R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "use_cache": true, "n_layer": 12})",
       R"({"tokenizer_class": "GPT2Tokenizer", "model_max_length": 1024, "cache_dir": null})",
       R"({"name": "x", "version": "1.0", "scripts": {"debug": "x"}, "project": "y"})",
       R"({"log_history": [], "global_step": 5, "max_steps": 5, "logging_steps": 500, "save_steps": 1})",
       R"({"max_length": 20, "generation_config": {}})",
       // nanoGPT's names, three of which are TrainingArguments' too.
       R"({"learning_rate": 1, "weight_decay": 1, "gradient_accumulation_steps": 1, "batch_size": 1,
            "max_iters": 1, "eval_interval": 1, "n_layer": 1, "n_head": 1, "n_embd": 1, "dropout": 0,
            "bias": false, "beta1": 1, "beta2": 1, "grad_clip": 1, "min_lr": 1})"}) {
    INFO(text);
    CHECK(tool_of_text(text) == "refused");
  }
}

}  // namespace trainx::imports::tool_test
