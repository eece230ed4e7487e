#include "imports/import.hpp"
#include "core/error.hpp"
#include "imports/registry.hpp"
#include "support/golden.hpp"
#include "unit/imports/support.hpp"

namespace trainx::imports::import_test {

using namespace testing;

TEST_CASE("TrainingArguments become a recipe") {
  for (
      const Case& c : std::vector<Case>{
          // What it does where it is silent.
          {R"({"output_dir": "trainer_output"})",
           {{"run.name", "trainer_output"},
            {"run.output_dir", "."},
            {"run.duration", "3 epochs"},
            {"batch.global_batch_size", "8"},
            {"batch.micro_batch_size", "8"},
            {"optimizer.type", "adamw"},
            {"optimizer.lr", "5e-5"},
            {"optimizer.max_grad_norm", "1"},
            {"optimizer.options.weight_decay", "0"},
            {"schedule.type", "linear"},
            {"schedule.warmup", "0 steps"},
            {"run.seed", "42"},
            {"checkpoint.every", "500 steps"},
            {"checkpoint.keep_last", "1048576"},
            {"metrics.every", "500 steps"},
            {"precision.compute", "fp32"}},
           {}},
          {R"({"output_dir": "/a/b/c/", "max_steps": 100, "num_train_epochs": 9, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8, "seed": 7})",
           {{"run.name", "c"},
            {"run.output_dir", "/a/b"},
            {"run.duration", "100 steps"},
            {"batch.global_batch_size", "32"},
            {"batch.micro_batch_size", "4"},
            {"run.seed", "7"}},
           {}},
          {R"({"learning_rate": 1e-3, "weight_decay": 0.1, "adam_beta1": 0.8, "adam_beta2": 0.95, "adam_epsilon": 1e-6, "max_grad_norm": 0.5, "optim": "adamw_torch"})",
           {{"optimizer.lr", "0.001"},
            {"optimizer.options.weight_decay", "0.1"},
            {"optimizer.options.beta1", "0.8"},
            {"optimizer.options.beta2", "0.95"},
            {"optimizer.options.eps", "1e-6"},
            {"optimizer.max_grad_norm", "0.5"}},
           {}},
          {R"({"optim": "sgd", "optim_args": "momentum=0.9, nesterov=True", "weight_decay": 0.01, "adam_beta1": 0.8})",
           {{"optimizer.type", "sgd"},
            {"optimizer.options.momentum", "0.9"},
            {"optimizer.options.nesterov", "true"},
            {"optimizer.options.weight_decay", "0.01"}},
           {"adam_beta1: 0.8: "}},
          {R"({"optim": "paged_adamw_32bit", "max_steps": 5})",
           {{"optimizer.type", "adamw"}},
           {"optim: 'paged_adamw_32bit': "}},
          // Schedules.
          {R"({"lr_scheduler_type": "cosine", "warmup_steps": 10, "max_steps": 50})",
           {{"schedule.type", "cosine"},
            {"schedule.warmup", "10 steps"},
            {"schedule.final_ratio", "0"}},
           {}},
          {R"({"lr_scheduler_type": "cosine", "warmup_ratio": 0.05, "max_steps": 50})",
           {{"schedule.warmup", "3 steps"}},
           {}},
          {R"({"lr_scheduler_type": "cosine", "warmup_steps": 0.1, "num_train_epochs": 3})",
           {{"schedule.warmup", "0.3 epochs"}},
           {}},
          {R"({"lr_scheduler_type": "constant", "warmup_steps": 10, "max_steps": 50})",
           {{"schedule.type", "constant"}, {"schedule.warmup", "0 steps"}},
           {"warmup_steps: 10: "}},
          {R"({"lr_scheduler_type": "constant_with_warmup", "warmup_steps": 10, "max_steps": 50})",
           {{"schedule.type", "constant"}, {"schedule.warmup", "10 steps"}},
           {}},
          {R"({"lr_scheduler_type": "cosine_with_restarts", "lr_scheduler_kwargs": {"num_cycles": 4}, "max_steps": 50})",
           {{"schedule.type", "cosine_restarts"}, {"schedule.cycles", "4"}},
           {}},
          {R"({"lr_scheduler_type": "cosine_with_min_lr", "lr_scheduler_kwargs": {"min_lr": 1e-5}, "learning_rate": 1e-4})",
           {{"schedule.type", "cosine"}, {"schedule.final_ratio", "0.1"}},
           {}},
          {R"({"lr_scheduler_type": "polynomial", "lr_scheduler_kwargs": {"power": 2}, "learning_rate": 1e-4})",
           {{"schedule.type", "polynomial"},
            {"schedule.power", "2"},
            {"schedule.final_ratio", "0.001"}},
           {}},
          {R"({"lr_scheduler_type": "inverse_sqrt", "lr_scheduler_kwargs": {"timescale": 100}})",
           {{"schedule.type", "inverse_sqrt"}, {"schedule.timescale", "100 steps"}},
           {}},
          {R"({"lr_scheduler_type": "warmup_stable_decay", "lr_scheduler_kwargs": {"num_decay_steps": 20, "decay_type": "1-sqrt", "min_lr_ratio": 0.1, "warmup_type": "cosine"}, "max_steps": 50})",
           {{"schedule.type", "wsd"},
            {"schedule.decay", "20 steps"},
            {"schedule.shape", "1-sqrt"},
            {"schedule.final_ratio", "0.1"}},
           {"lr_scheduler_kwargs.warmup_type: 'cosine': "}},
          {R"({"lr_scheduler_type": "cosine", "lr_scheduler_kwargs": {"num_cycles": 2, "speed": 1}})",
           {{"schedule.type", "cosine"}},
           {"lr_scheduler_kwargs.num_cycles: 2: ", "lr_scheduler_kwargs.speed: 1: "}},
          // Precision and memory.
          {R"({"bf16": true, "gradient_checkpointing": true, "tf32": true, "max_steps": 1})",
           {{"precision.compute", "bf16"}, {"memory.activation_checkpoint", "full"}},
           {"tf32: true: "}},
          {R"({"tf32": true, "max_steps": 1})", {{"precision.compute", "tf32"}}, {}},
          {R"({"torch_compile": true, "torch_compile_backend": "inductor", "max_steps": 1, "use_liger_kernel": false})",
           {},
           {"torch_compile: true: ", "torch_compile_backend: 'inductor': "}},
          // Intervals.
          {R"({"logging_steps": 5, "save_steps": 0.1, "save_total_limit": 3, "eval_strategy": "steps", "eval_steps": 20, "max_steps": 200})",
           {{"metrics.every", "5 steps"},
            {"checkpoint.every", "20 steps"},
            {"checkpoint.keep_last", "3"},
            {"eval.every", "20 steps"},
            {"eval.batches", "all"}},
           {}},
          {R"({"logging_strategy": "epoch", "save_strategy": "no", "evaluation_strategy": "epoch", "num_train_epochs": 2})",
           {{"metrics.every", "1 epoch"},
            {"checkpoint.every", "2 epochs"},
            {"eval.every", "1 epoch"}},
           {"save_strategy: 'no': "}},
          {R"({"eval_strategy": "steps", "bf16_full_eval": true, "max_steps": 50})",
           {{"precision.compute", "fp32"}, {"eval.precision", "bf16"}},
           {}},
          {R"({"eval_strategy": "steps", "bf16": true, "fp16_full_eval": true, "max_steps": 50})",
           {{"precision.compute", "bf16"}, {"eval.precision", "fp16"}},
           {}},
          {R"({"eval_strategy": "steps", "bf16": true, "bf16_full_eval": true, "max_steps": 50})",
           {{"precision.compute", "bf16"}},
           {}},
          {R"({"eval_strategy": "no", "fp16_full_eval": true, "max_steps": 50})",
           {},
           {"fp16_full_eval: true: "}},
          {R"({"eval_strategy": "steps", "logging_steps": 7, "max_steps": 50})",
           {{"eval.every", "7 steps"}},
           {}},
          // Data, devices.
          {R"({"dataloader_num_workers": 4, "dataloader_prefetch_factor": 2, "train_sampling_strategy": "sequential", "use_cpu": true, "full_determinism": true, "block_size": 32, "max_steps": 1})",
           {{"data.workers", "4"},
            {"data.prefetch", "8"},
            {"data.shuffle", "false"},
            {"run.device", "cpu"},
            {"run.deterministic", "true"},
            {"data.sequence_length", "64"}},
           {}},
          {R"({"group_by_length": true, "dataloader_drop_last": true, "max_steps": 1})",
           {},
           {"group_by_length: true: ", "dataloader_drop_last: true: "}},
          {R"({"report_to": ["wandb"], "push_to_hub": true, "hub_model_id": "me/it", "run_name": "x", "max_steps": 1})",
           {},
           {"report_to: ['wandb']: ", "push_to_hub: true: "}},
          {R"({"max_steps": 1, "max_step": 2, "accelerator_config": {"even_batches": true, "split_batches": true, "new_one": 1}})",
           {},
           {"max_step: 2: ", "accelerator_config.split_batches: true",
            "accelerator_config.new_one: 1: "}},
          {R"({"max_steps": 1, "fsdp": "full_shard", "deepspeed": "ds.json"})",
           {{"parallel.mode", "zero3"}},
           {"deepspeed: 'ds.json': "}},
          {R"({"max_steps": 1, "learning_rate": 1e-4, "deepspeed": {"optimizer": {"type": "AdamW", "params": {"lr": "auto", "weight_decay": 0.2}}, "gradient_clipping": "auto"}})",
           {{"optimizer.lr", "1e-4"}, {"optimizer.options.weight_decay", "0.2"}},
           {}},
      })
    check(c);
}

TEST_CASE("DeepSpeed's configuration becomes a recipe") {
  const std::string run =
      R"("scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 100, "warmup_num_steps": 10, "warmup_type": "linear", "warmup_max_lr": 1e-3}})";
  for (
      const Case& c : std::vector<Case>{
          {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "gradient_clipping": 0.5, )" +
               run + "}",
           {{"batch.global_batch_size", "64"},
            {"batch.micro_batch_size", "4"},
            {"optimizer.max_grad_norm", "0.5"},
            {"schedule.type", "linear"},
            {"schedule.warmup", "10 steps"},
            {"run.duration", "100 steps"},
            {"optimizer.lr", "0.001"}},
           {}},
          {R"({"train_batch_size": 64, )" + run + "}",
           {{"batch.global_batch_size", "64"}, {"batch.micro_batch_size", "64"}},
           {}},
          {R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, )" + run +
               R"(, "optimizer": {"type": "AdamW", "params": {"lr": 2e-3, "betas": [0.8, 0.9], "eps": 1e-7, "weight_decay": 0.1, "amsgrad": true}}})",
           {{"batch.global_batch_size", "8"},
            {"optimizer.type", "adamw"},
            {"optimizer.options.beta1", "0.8"},
            {"optimizer.options.beta2", "0.9"},
            {"optimizer.options.eps", "1e-7"},
            {"optimizer.options.weight_decay", "0.1"},
            {"optimizer.lr", "0.001"}},
           {"optimizer.params.amsgrad: true: ", "optimizer.params.lr: 2e-3: "}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "bf16": {"enabled": true}, "fp16": {"enabled": false, "loss_scale": 0}, "zero_optimization": {"stage": 2, "overlap_comm": true, "stagee": 3}, "steps_per_print": 10})",
           {{"precision.compute", "bf16"}, {"parallel.mode", "zero2"}},
           {"zero_optimization.stagee: 3: "}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 12, "loss_scale_window": 500, "hysteresis": 2, "min_loss_scale": 1}})",
           {{"precision.compute", "fp16"},
            {"precision.initial_loss_scale", "4096"},
            {"precision.loss_scale_window", "500"}},
           {"fp16.hysteresis: 2: "}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "fp16": {"enabled": true, "loss_scale": 128}})",
           {{"precision.compute", "fp16"}, {"precision.loss_scale", "128"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"offload_optimizer": {"device": "cpu", "pin_memory": true}}, "wandb": {"enabled": true}, "flops_profiler": {"enabled": false, "top": 1}})",
           {{"memory.optimizer_offload.where", "cpu"}},
           {"wandb: a map: "}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"offload_optimizer": {"device": "nvme", "nvme_path": "/tmp"}, "offload_param": {"device": "cpu"}}})",
           {{"memory.optimizer_offload.where", "disk"},
            {"memory.optimizer_offload.folder", "/tmp"}},
           {"zero_optimization.offload_param.device: 'cpu': "}},
          {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"cpu_offload": true}})",
           {{"memory.optimizer_offload.where", "cpu"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"offload_optimizer": {"device": "cpu", "ratio": 0.75}}})",
           {{"memory.optimizer_offload.where", "cpu"}, {"memory.optimizer_offload.share", "0.25"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu", "pin_memory": true}}})",
           {{"parallel.mode", "zero3"}, {"memory.parameter_offload", "cpu"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}})",
           {{"parallel.mode", "zero3"}, {"memory.parameter_offload", "disk"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "nvme", "nvme_path": "/tmp", "buffer_count": 5}}})",
           {{"parallel.mode", "zero3"},
            {"memory.optimizer_offload.where", "cpu"},
            {"memory.parameter_offload", "disk"},
            {"memory.optimizer_offload.folder", "/tmp"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/tmp"}, "offload_param": {"device": "nvme", "nvme_path": "/var/tmp"}}})",
           {{"parallel.mode", "zero3"},
            {"memory.optimizer_offload.where", "disk"},
            {"memory.parameter_offload", "disk"},
            {"memory.optimizer_offload.folder", "/tmp"}},
           {"zero_optimization.offload_param.nvme_path: '/var/tmp': "}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/tmp"}, "offload_param": {"device": "cpu"}}})",
           {{"parallel.mode", "zero3"},
            {"memory.optimizer_offload.where", "disk"},
            {"memory.parameter_offload", "cpu"},
            {"memory.optimizer_offload.folder", "/tmp"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "mics_shard_size": 8, "mics_hierarchical_params_gather": true}})",
           {{"parallel.mode", "zero3"}, {"parallel.shard_ranks", "8"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"mics_shard_size": -1, "stage": 3}})",
           {{"parallel.mode", "zero3"}},
           {}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "mics_shard_size": 1}})",
           {{"parallel.mode", "zero3"}},
           {"zero_optimization.mics_shard_size: 1: "}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 2, "mics_shard_size": 4}})",
           {{"parallel.mode", "zero2"}},
           {"zero_optimization.mics_shard_size: 4: "}},
          {R"({"train_batch_size": 2, )" + run +
               R"(, "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}})",
           {{"parallel.mode", "zero3"}},
           {"zero_optimization.zero_hpz_partition_size: 8: "}},
          {R"({"train_batch_size": 2, "optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9}}, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 5, "total_num_steps": 20}}})",
           {{"optimizer.type", "sgd"},
            {"optimizer.options.momentum", "0.9"},
            {"schedule.type", "constant"},
            {"schedule.warmup", "5 steps"}},
           {"scheduler.params.warmup_type: : "}},
      })
    check(c);
}

TEST_CASE(
    "files go together: DeepSpeed's auto is what TrainingArguments say, Accelerate counts the "
    "processes") {
  const SourceFile arguments{
      "a.json",
      R"({"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "learning_rate": 3e-4, "max_steps": 50, "deepspeed": "ds.json"})"};
  const SourceFile deepspeed{
      "ds.json",
      R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}}, "zero_optimization": {"stage": 0, "reduce_bucket_size": "auto"}})"};
  const SourceFile accelerate{
      "acc.yaml",
      "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: "
      "bf16\nnum_processes: 4\nnum_machines: 1\nuse_cpu: false\ndynamo_config: {dynamo_backend: "
      "'NO', dynamo_mode: default}\n"};
  const Imported imported = import_settings({accelerate, deepspeed, arguments}, all_chosen());
  const auto recipe = recipe_of(imported);
  CHECK(recipe.at("batch.global_batch_size") == "32");
  CHECK(recipe.at("batch.micro_batch_size") == "4");
  CHECK(recipe.at("optimizer.lr") == "3e-4");
  CHECK(recipe.at("precision.compute") == "bf16");
  REQUIRE(imported.leftovers.size() == 1);
  CHECK(yaml::to_string(imported.leftovers[0].where) == "acc.yaml:4:1");
  CHECK(imported.leftovers[0].key == "num_processes");

  Choices two = all_chosen();
  two.world = 2;
  CHECK(recipe_of(import_settings({arguments}, two)).at("batch.global_batch_size") == "16");
  const std::string both = refusal(
      {arguments, {"ds.json", R"({"gradient_clipping": 1, "gradient_accumulation_steps": 8})"}});
  CHECK(both.starts_with("a.json:1:36: gradient_accumulation_steps "));
  CHECK(both.find("ds.json:1:26") != std::string::npos);
  CHECK(refusal({arguments, arguments}).find("TrainingArguments") != std::string::npos);
  two.world = 3;
  CHECK(
      refusal(
          {{"ds.json",
            R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})"}},
          two)
          .starts_with("ds.json:1:2: train_batch_size "));
  const Imported alone = import_settings({deepspeed}, all_chosen());
  CHECK(lines(alone.leftovers).starts_with("ds.json:1:2: train_batch_size: 'auto': "));
}

TEST_CASE("an optimizer or schedule that is not there is asked for, never replaced") {
  const Imported imported = import_settings(
      {{"f",
        R"({"optim": "galore_adamw", "lr_scheduler_type": "reduce_lr_on_plateau", "max_steps": 5, "adam_beta1": 0.8, "weight_decay": 0.1})"}},
      all_chosen());
  REQUIRE(imported.asked.size() == 2);
  CHECK(imported.asked[0].first == "optimizer.type");
  CHECK(imported.asked[1].first == "schedule.type");
  CHECK(lines(imported.leftovers).find("optim: 'galore_adamw': ") != std::string::npos);
  CHECK(lines(imported.leftovers).find("weight_decay: 0.1: ") != std::string::npos);
  try {
    recipe::parse_recipe(imported.recipe, "r.yaml");
    FAIL("a recipe without an optimizer was read");
  } catch (const recipe::RecipeError& e) {
    REQUIRE(e.problems().size() == 2);
    CHECK(e.problems()[0].key == "optimizer.type");
    CHECK(e.problems()[1].key == "schedule.type");
  }
  // Those that this trainx has follow from its lists.
  for (const auto& [theirs, ours] : {std::pair{"adafactor", "adafactor"},
                                     {"lion_32bit", "lion"},
                                     {"adamw_bnb_8bit", "adamw_8bit"},
                                     {"adagrad", "adagrad"},
                                     {"adamw_anyprecision", "adamw_anyprecision"}}) {
    const Imported one = import_settings(
        {{"f", std::string(R"({"max_steps": 5, "optim": ")") + theirs + "\"}"}}, all_chosen());
    INFO(one.recipe);
    CHECK(one.asked.empty() == has_optimizer(ours));
    if (has_optimizer(ours)) CHECK(recipe_of(one).at("optimizer.type") == ours);
  }
}

TEST_CASE("what the files do not say stands in the recipe without a value") {
  const Imported imported = import_settings(
      {{"f", R"({"zero_optimization": {"offload_param": {"device": "cpu"}}})"}}, {});
  std::string keys;
  for (const auto& [key, what] : imported.asked) keys += key + " ";
  CHECK(keys ==
        "batch.global_batch_size batch.micro_batch_size data.sequence_length data.train data.type "
        "model.init_from optimizer.lr run.duration ");
  CHECK(imported.recipe.find("#   f:1:42: zero_optimization.offload_param.device: 'cpu': ") !=
        std::string::npos);
  CHECK_THROWS_AS(recipe::parse_recipe(imported.recipe, "r.yaml"), recipe::RecipeError);
}

TEST_CASE("values of another type are refused with their place") {
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {R"({"learning_rate": "fast"})", "f:1:2: learning_rate: "},
           {"{\"max_steps\": 10,\n\"bf16\": 3}", "f:2:1: bf16: "},
           {R"({"max_steps": 1.5})", "f:1:2: max_steps: "},
           {R"({"max_steps": 1, "lr_scheduler_kwargs": [1]})", "f:1:18: lr_scheduler_kwargs: "},
           {R"({"per_device_train_batch_size": 0})", "f:1:2: per_device_train_batch_size: "},
           {R"({"max_steps": 1, "save_strategy": "often"})", "f:1:18: save_strategy: "},
           {R"({"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"betas": [0.9]}}})",
            "f:1:66: optimizer.params.betas: "},
           {R"({"foo": 1, "bar": 2})", "f: "},
       }) {
    CHECK(refusal({{"f", text}}).starts_with(place));
    check_sentence("foreign.import/" + place, refusal({{"f", text}}));
  }
}

TEST_CASE("no text of a foreign file leaves its place in the recipe") {
  const Imported imported = import_settings(
      {{"f",
        R"({"output_dir": "a/${env:HOME}: #x\n", "report_to": "x\ny: 1", "k\ney": "v", "max_steps": 3})"}},
      all_chosen());
  INFO(imported.recipe);
  recipe::LoadOptions options;
  options.environment = [](const std::string&) { return std::optional<std::string>("taken"); };
  try {
    recipe::parse_recipe(imported.recipe, "r.yaml", options);
    FAIL("a name with a line's end was taken");
  } catch (const recipe::RecipeError& e) {
    REQUIRE(e.problems().size() == 1);
    CHECK(e.problems()[0].key == "run.name");
    CHECK(e.problems()[0].message.find("'${env:HOME}: #x\\n'") != std::string::npos);
  }
}

}  // namespace trainx::imports::import_test
