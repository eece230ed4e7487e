#include "unit/imports/support.hpp"
#include <algorithm>

namespace trainx::imports::torchtune_test {

using namespace testing;

namespace {

/// As its recipes for one device look, with values of our own.
const std::string full = R"(output_dir: /data/runs/tuned
model:
  _component_: torchtune.models.llama3_2.llama3_2_1b
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /models/llama/tokenizer.model
  max_seq_len: 512
dataset:
  _component_: torchtune.datasets.alpaca_dataset
  packed: True
seed: 7
shuffle: False
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  checkpoint_dir: /models/llama
  checkpoint_files: [
    model.safetensors
  ]
  recipe_checkpoint: null
  output_dir: ${output_dir}
  model_type: LLAMA3_2
resume_from_checkpoint: False
batch_size: 4
epochs: 2
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
  fused: True
lr_scheduler:
  _component_: torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup
  num_warmup_steps: 30
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
max_steps_per_epoch: null
gradient_accumulation_steps: 8
clip_grad_norm: null
compile: False
device: cuda
enable_activation_checkpointing: True
enable_activation_offloading: False
dtype: bf16
metric_logger:
  _component_: torchtune.training.metric_logging.TensorBoardLogger
  log_dir: ${output_dir}/logs
log_every_n_steps: 5
log_peak_memory_stats: True
profiler:
  _component_: torchtune.training.setup_torch_profiler
  enabled: False
  output_dir: ${output_dir}/profiling_outputs
  cpu: True
)";

const std::string small =
    "model: {_component_: torchtune.models.gpt2.gpt2}\nbatch_size: 2\nepochs: 1\n";

}  // namespace

TEST_CASE("a torchtune recipe becomes a recipe, its model is named as one that trainx lacks") {
  Choices choices = all_chosen();
  choices.sequence_length.reset();
  const Imported imported = import_settings({{"f", full}}, choices);
  const auto r = recipe_of(imported);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"run.duration", "2 epochs"},      {"run.name", "tuned"},
           {"run.output_dir", "/data/runs"},  {"run.seed", "7"},
           {"batch.global_batch_size", "32"}, {"batch.micro_batch_size", "4"},
           {"optimizer.type", "adamw"},       {"optimizer.lr", "2e-5"},
           {"optimizer.max_grad_norm", "0"},  {"optimizer.options.weight_decay", "0.01"},
           {"schedule.type", "cosine"},       {"schedule.warmup", "30 steps"},
           {"precision.compute", "bf16"},     {"memory.activation_checkpoint", "full"},
           {"metrics.every", "5 steps"},      {"metrics.tensorboard", "true"},
           {"data.sequence_length", "512"},   {"data.shuffle", "false"},
           {"checkpoint.every", "1 epoch"},   {"checkpoint.keep_last", "1048576"}}) {
    INFO(key);
    CHECK(r.at(key) == value);
  }
  INFO(lines(imported.leftovers));
  CHECK(imported.leftovers.front().key == "model._component_");
  CHECK(imported.leftovers.front().differs);
  CHECK(imported.leftovers.front().why.find("llama") != std::string::npos);
  const auto names = [&](const char* key) {
    return std::ranges::count(imported.leftovers, key, &Leftover::key) > 0;
  };
  CHECK(names("dataset._component_"));
  CHECK(names("dataset.packed"));
  CHECK(names("tokenizer.path"));
  CHECK_FALSE(names("profiler"));
  CHECK_FALSE(names("compile"));
}

TEST_CASE("torchtune's settings of optimizer, memory and sharding") {
  const std::string model = "model._component_: torchtune.models.gpt2.gpt2: ";
  for (const Case& c : std::vector<Case>{
           {small + "optimizer: {_component_: bitsandbytes.optim.PagedAdamW8bit, lr: "
                    "2e-5}\noptimizer_in_bwd: True\n",
            {{"optimizer.type", "adamw_8bit"},
             {"optimizer.lr", "2e-5"},
             {"optimizer.update_in_backward", "true"},
             {"optimizer.max_grad_norm", "0"},
             {"schedule.type", "constant"}},
            {model, "optimizer._component_: bitsandbytes.optim.PagedAdamW8bit: "}},
           {small + "optimizer: {_component_: torch.optim.SGD, lr: 0.1, momentum: 0.9, nesterov: "
                    "True}\nclip_grad_norm: 1.5\n",
            {{"optimizer.type", "sgd"},
             {"optimizer.options.momentum", "0.9"},
             {"optimizer.options.nesterov", "true"},
             {"optimizer.max_grad_norm", "1.5"}},
            {model}},
           {small + "optimizer: {_component_: torch.optim.AdamW, lr: 1e-4, betas: [0.8, "
                    "0.9]}\nmax_steps_per_epoch: 50\nfsdp_cpu_offload: True\n",
            {{"run.duration", "50 steps"},
             {"optimizer.options.beta1", "0.8"},
             {"parallel.mode", "zero3"},
             {"memory.optimizer_offload.where", "cpu"},
             {"memory.parameter_offload", "cpu"}},
            {model}},
           {small + "optimizer: {_component_: torch.optim.AdamW, lr: 1e-4}\ncompile: "
                    "True\nunheard_of: 3\nprofiler: {_component_: x, enabled: True}\n",
            {},
            {model, "compile: True: ", "unheard_of: 3: ", "profiler.enabled: True: "}}})
    check(c);
}

TEST_CASE("an unknown optimizer or schedule of torchtune is asked for, with an adapter's targets") {
  const Imported imported = import_settings({{"f", R"(model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_rank: 8
optimizer: {_component_: torch.optim.Muon, lr: 1e-3}
lr_scheduler: {_component_: torch.optim.lr_scheduler.StepLR}
loss: {_component_: torchtune.rlhf.loss.DPOLoss}
batch_size: 1
epochs: 1
)"}},
                                            all_chosen());
  INFO(lines(imported.leftovers));
  REQUIRE(imported.leftovers.size() >= 2);
  CHECK(imported.leftovers[0].key == "model._component_");
  CHECK(imported.leftovers[0].why.find("llama") != std::string::npos);
  CHECK(imported.leftovers[1].key == "loss._component_");
  std::string asked;
  for (const auto& [key, what] : imported.asked) asked += key + " ";
  CHECK(asked == "model.adapter.targets optimizer.type schedule.type ");
}

TEST_CASE("torchtune's interpolations are followed, in circles they end") {
  const Imported imported = import_settings(
      {{"f", "base: /data\nname: ${base}/run\noutput_dir: ${name}\nloop: ${loop}\n" + small +
                 "optimizer: {_component_: torch.optim.AdamW, lr: 1e-4}\n"}},
      all_chosen());
  CHECK(recipe_of(imported).at("run.output_dir") == "/data");
  CHECK(recipe_of(imported).at("run.name") == "run");
}

}  // namespace trainx::imports::torchtune_test
