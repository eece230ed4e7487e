#include "foreign/import.hpp"
#include "core/error.hpp"
#include "foreign/registry.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include <map>

namespace trainx::foreign {
namespace {

Choices all_chosen() {
  Choices choices;
  choices.model_type = "gpt2";
  choices.data_type = "stories";
  choices.sequence_length = 64;
  return choices;
}

/// Every key of the recipe that the files become; it must be a good one.
std::map<std::string, std::string> recipe_of(const Imported& imported) {
  INFO(imported.recipe);
  CHECK(imported.asked.empty());
  try {
    const auto keys = recipe::flatten(recipe::parse_recipe(imported.recipe, "r.yaml").recipe);
    return {keys.begin(), keys.end()};
  } catch (const UserError& e) {
    FAIL(e.what());
  }
  return {};
}

std::string lines(const std::vector<Leftover>& leftovers) {
  std::string out;
  for (const Leftover& l : leftovers) out += to_string(l) + "\n";
  return out;
}

struct Case {
  std::string text;                     // of one file
  std::vector<std::pair<std::string, std::string>> becomes;
  std::vector<std::string> left;        // in order, the beginning of each line behind "f:line:column: "
};

void check(const Case& c) {
  INFO(c.text);
  const Imported imported = import_settings({{"f", c.text}}, all_chosen());
  const auto recipe = recipe_of(imported);
  for (const auto& [key, value] : c.becomes) {
    INFO(key);
    CHECK((recipe.contains(key) ? recipe.at(key) : "(not there)") == value);
  }
  INFO(lines(imported.leftovers));
  REQUIRE(imported.leftovers.size() == c.left.size());
  for (std::size_t i = 0; i < c.left.size(); ++i) {
    const Leftover& l = imported.leftovers[i];
    CHECK((l.key + ": " + l.value + ": " + l.why).starts_with(c.left[i]));
    CHECK_FALSE(l.why.empty());
  }
}

std::string refusal(const std::vector<SourceFile>& files, const Choices& choices = all_chosen()) {
  try {
    import_settings(files, choices);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("TrainingArguments become a recipe") {
  for (const Case& c : std::vector<Case>{
           // What it does where it is silent.
           {R"({"output_dir": "trainer_output"})",
            {{"run.name", "trainer_output"}, {"run.output_dir", "."}, {"run.duration", "3 epochs"}, {"batch.global_batch_size", "8"}, {"batch.micro_batch_size", "8"}, {"optimizer.type", "adamw"},
             {"optimizer.lr", "5e-5"}, {"optimizer.max_grad_norm", "1"}, {"optimizer.options.weight_decay", "0"}, {"schedule.type", "linear"}, {"schedule.warmup", "0 steps"}, {"run.seed", "42"},
             {"checkpoint.every", "500 steps"}, {"checkpoint.keep_last", "1048576"}, {"metrics.every", "500 steps"}, {"precision.compute", "fp32"}},
            {}},
           {R"({"output_dir": "/a/b/c/", "max_steps": 100, "num_train_epochs": 9, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8, "seed": 7})",
            {{"run.name", "c"}, {"run.output_dir", "/a/b"}, {"run.duration", "100 steps"}, {"batch.global_batch_size", "32"}, {"batch.micro_batch_size", "4"}, {"run.seed", "7"}},
            {}},
           {R"({"learning_rate": 1e-3, "weight_decay": 0.1, "adam_beta1": 0.8, "adam_beta2": 0.95, "adam_epsilon": 1e-6, "max_grad_norm": 0.5, "optim": "adamw_torch"})",
            {{"optimizer.lr", "0.001"}, {"optimizer.options.weight_decay", "0.1"}, {"optimizer.options.beta1", "0.8"}, {"optimizer.options.beta2", "0.95"}, {"optimizer.options.eps", "1e-6"},
             {"optimizer.max_grad_norm", "0.5"}},
            {}},
           {R"({"optim": "sgd", "optim_args": "momentum=0.9, nesterov=True", "weight_decay": 0.01, "adam_beta1": 0.8})",
            {{"optimizer.type", "sgd"}, {"optimizer.options.momentum", "0.9"}, {"optimizer.options.nesterov", "true"}, {"optimizer.options.weight_decay", "0.01"}},
            {"adam_beta1: 0.8: transformers gives it to Adam"}},
           {R"({"optim": "paged_adamw_32bit", "max_steps": 5})", {{"optimizer.type", "adamw"}}, {"optim: 'paged_adamw_32bit': its states are not paged"}},
           // Schedules.
           {R"({"lr_scheduler_type": "cosine", "warmup_steps": 10, "max_steps": 50})", {{"schedule.type", "cosine"}, {"schedule.warmup", "10 steps"}, {"schedule.final_ratio", "0"}}, {}},
           {R"({"lr_scheduler_type": "cosine", "warmup_ratio": 0.05, "max_steps": 50})", {{"schedule.warmup", "3 steps"}}, {}},
           {R"({"lr_scheduler_type": "cosine", "warmup_steps": 0.1, "num_train_epochs": 3})", {{"schedule.warmup", "0.3 epochs"}}, {}},
           {R"({"lr_scheduler_type": "constant", "warmup_steps": 10, "max_steps": 50})", {{"schedule.type", "constant"}, {"schedule.warmup", "0 steps"}}, {"warmup_steps: 10: transformers' constant"}},
           {R"({"lr_scheduler_type": "constant_with_warmup", "warmup_steps": 10, "max_steps": 50})", {{"schedule.type", "constant"}, {"schedule.warmup", "10 steps"}}, {}},
           {R"({"lr_scheduler_type": "cosine_with_restarts", "lr_scheduler_kwargs": {"num_cycles": 4}, "max_steps": 50})", {{"schedule.type", "cosine_restarts"}, {"schedule.cycles", "4"}}, {}},
           {R"({"lr_scheduler_type": "cosine_with_min_lr", "lr_scheduler_kwargs": {"min_lr": 1e-5}, "learning_rate": 1e-4})", {{"schedule.type", "cosine"}, {"schedule.final_ratio", "0.1"}}, {}},
           {R"({"lr_scheduler_type": "polynomial", "lr_scheduler_kwargs": {"power": 2}, "learning_rate": 1e-4})", {{"schedule.type", "polynomial"}, {"schedule.power", "2"}, {"schedule.final_ratio", "0.001"}}, {}},
           {R"({"lr_scheduler_type": "inverse_sqrt", "lr_scheduler_kwargs": {"timescale": 100}})", {{"schedule.type", "inverse_sqrt"}, {"schedule.timescale", "100 steps"}}, {}},
           {R"({"lr_scheduler_type": "warmup_stable_decay", "lr_scheduler_kwargs": {"num_decay_steps": 20, "decay_type": "1-sqrt", "min_lr_ratio": 0.1, "warmup_type": "cosine"}, "max_steps": 50})",
            {{"schedule.type", "wsd"}, {"schedule.decay", "20 steps"}, {"schedule.shape", "1-sqrt"}, {"schedule.final_ratio", "0.1"}},
            {"lr_scheduler_kwargs.warmup_type: 'cosine': trainx's warm-up"}},
           {R"({"lr_scheduler_type": "cosine", "lr_scheduler_kwargs": {"num_cycles": 2, "speed": 1}})", {{"schedule.type", "cosine"}},
            {"lr_scheduler_kwargs.num_cycles: 2: trainx's cosine is half a wave", "lr_scheduler_kwargs.speed: 1: is no argument of cosine"}},
           // Precision and memory.
           {R"({"bf16": true, "gradient_checkpointing": true, "tf32": true, "max_steps": 1})", {{"precision.compute", "bf16"}, {"memory.activation_checkpoint", "full"}}, {}},
           {R"({"tf32": true, "max_steps": 1})", {{"precision.compute", "tf32"}}, {}},
           {R"({"torch_compile": true, "torch_compile_backend": "inductor", "max_steps": 1, "use_liger_kernel": false})", {},
            {"torch_compile: true: trainx has no compiler to choose: steps are captured as one CUDA graph", "torch_compile_backend: 'inductor': trainx has no compiler"}},
           // Intervals.
           {R"({"logging_steps": 5, "save_steps": 0.1, "save_total_limit": 3, "eval_strategy": "steps", "eval_steps": 20, "max_steps": 200})",
            {{"metrics.every", "5 steps"}, {"checkpoint.every", "20 steps"}, {"checkpoint.keep_last", "3"}, {"eval.every", "20 steps"}, {"eval.batches", "1073741824"}},
            {}},
           {R"({"logging_strategy": "epoch", "save_strategy": "no", "evaluation_strategy": "epoch", "num_train_epochs": 2})",
            {{"metrics.every", "1 epoch"}, {"checkpoint.every", "2 epochs"}, {"eval.every", "1 epoch"}},
            {"save_strategy: 'no': a run's last step is always saved"}},
           {R"({"eval_strategy": "steps", "bf16_full_eval": true, "max_steps": 50})", {{"precision.compute", "fp32"}, {"eval.precision", "bf16"}}, {}},
           {R"({"eval_strategy": "steps", "bf16": true, "fp16_full_eval": true, "max_steps": 50})", {{"precision.compute", "bf16"}, {"eval.precision", "fp16"}}, {}},
           {R"({"eval_strategy": "steps", "bf16": true, "bf16_full_eval": true, "max_steps": 50})", {{"precision.compute", "bf16"}}, {}},
           {R"({"eval_strategy": "no", "fp16_full_eval": true, "max_steps": 50})", {}, {"fp16_full_eval: true: the settings evaluate nothing"}},
           {R"({"eval_strategy": "steps", "logging_steps": 7, "max_steps": 50})", {{"eval.every", "7 steps"}}, {}},
           // Data, devices.
           {R"({"dataloader_num_workers": 4, "dataloader_prefetch_factor": 2, "train_sampling_strategy": "sequential", "use_cpu": true, "full_determinism": true, "block_size": 32, "max_steps": 1})",
            {{"data.workers", "4"}, {"data.prefetch", "8"}, {"data.shuffle", "false"}, {"run.device", "cpu"}, {"run.deterministic", "true"}, {"data.sequence_length", "64"}},
            {}},
           {R"({"group_by_length": true, "dataloader_drop_last": true, "max_steps": 1})", {}, {"group_by_length: true: samples of type stories", "dataloader_drop_last: true: an epoch's last"}},
           {R"({"report_to": ["wandb"], "push_to_hub": true, "hub_model_id": "me/it", "run_name": "x", "max_steps": 1})", {}, {"report_to: a list: ", "push_to_hub: true: trainx uploads nothing"}},
           {R"({"max_steps": 1, "max_step": 2, "accelerator_config": {"even_batches": true, "split_batches": true, "new_one": 1}})", {},
            {"max_step: 2: is no setting of TrainingArguments that trainx knows", "accelerator_config.split_batches: true", "accelerator_config.new_one: 1: is no setting"}},
           {R"({"max_steps": 1, "fsdp": "full_shard", "deepspeed": "ds.json"})", {}, {"fsdp: 'full_shard': ", "deepspeed: 'ds.json': give that file too"}},
           {R"({"max_steps": 1, "learning_rate": 1e-4, "deepspeed": {"optimizer": {"type": "AdamW", "params": {"lr": "auto", "weight_decay": 0.2}}, "gradient_clipping": "auto"}})",
            {{"optimizer.lr", "1e-4"}, {"optimizer.options.weight_decay", "0.2"}}, {}},
       })
    check(c);
}

TEST_CASE("DeepSpeed's configuration becomes a recipe") {
  const std::string run = R"("scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 100, "warmup_num_steps": 10, "warmup_type": "linear", "warmup_max_lr": 1e-3}})";
  for (const Case& c : std::vector<Case>{
           {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "gradient_clipping": 0.5, )" + run + "}",
            {{"batch.global_batch_size", "64"}, {"batch.micro_batch_size", "4"}, {"optimizer.max_grad_norm", "0.5"}, {"schedule.type", "linear"}, {"schedule.warmup", "10 steps"}, {"run.duration", "100 steps"},
             {"optimizer.lr", "0.001"}},
            {}},
           {R"({"train_batch_size": 64, )" + run + "}", {{"batch.global_batch_size", "64"}, {"batch.micro_batch_size", "64"}}, {}},
           {R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, )" + run + R"(, "optimizer": {"type": "AdamW", "params": {"lr": 2e-3, "betas": [0.8, 0.9], "eps": 1e-7, "weight_decay": 0.1, "amsgrad": true}}})",
            {{"batch.global_batch_size", "8"}, {"optimizer.type", "adamw"}, {"optimizer.options.beta1", "0.8"}, {"optimizer.options.beta2", "0.9"}, {"optimizer.options.eps", "1e-7"},
             {"optimizer.options.weight_decay", "0.1"}, {"optimizer.lr", "0.001"}},
            {"optimizer.params.lr: 2e-3: the scheduler's", "optimizer.params.amsgrad: true: "}},
           {R"({"train_batch_size": 2, )" + run + R"(, "bf16": {"enabled": true}, "fp16": {"enabled": false, "loss_scale": 0}, "zero_optimization": {"stage": 2, "overlap_comm": true, "stagee": 3}, "steps_per_print": 10})",
            {{"precision.compute", "bf16"}, {"parallel.mode", "zero2"}}, {"zero_optimization.stagee: 3: is no setting of DeepSpeed"}},
           {R"({"train_batch_size": 2, )" + run + R"(, "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 12, "loss_scale_window": 500, "hysteresis": 2, "min_loss_scale": 1}})",
            {{"precision.compute", "fp16"}, {"precision.initial_loss_scale", "4096"}, {"precision.loss_scale_window", "500"}}, {"fp16.hysteresis: 2: a scale is halved by the first step"}},
           {R"({"train_batch_size": 2, )" + run + R"(, "fp16": {"enabled": true, "loss_scale": 128}})", {{"precision.compute", "fp16"}, {"precision.loss_scale", "128"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"offload_optimizer": {"device": "cpu", "pin_memory": true}}, "wandb": {"enabled": true}, "flops_profiler": {"enabled": false, "top": 1}})",
            {{"memory.optimizer_offload.where", "cpu"}}, {"wandb: a map: "}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"offload_optimizer": {"device": "nvme", "nvme_path": "/tmp"}, "offload_param": {"device": "cpu"}}})",
            {{"memory.optimizer_offload.where", "disk"}, {"memory.optimizer_offload.folder", "/tmp"}}, {"zero_optimization.offload_param.device: 'cpu': acts with stage 3 alone"}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"cpu_offload": true}})", {{"memory.optimizer_offload.where", "cpu"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"offload_optimizer": {"device": "cpu", "ratio": 0.75}}})", {{"memory.optimizer_offload.where", "cpu"}, {"memory.optimizer_offload.share", "0.25"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu", "pin_memory": true}}})", {{"parallel.mode", "zero3"}, {"memory.parameter_offload", "cpu"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}})", {{"parallel.mode", "zero3"}, {"memory.parameter_offload", "disk"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "nvme", "nvme_path": "/tmp", "buffer_count": 5}}})",
            {{"parallel.mode", "zero3"}, {"memory.optimizer_offload.where", "cpu"}, {"memory.parameter_offload", "disk"}, {"memory.optimizer_offload.folder", "/tmp"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/tmp"}, "offload_param": {"device": "nvme", "nvme_path": "/var/tmp"}}})",
            {{"parallel.mode", "zero3"}, {"memory.optimizer_offload.where", "disk"}, {"memory.parameter_offload", "disk"}, {"memory.optimizer_offload.folder", "/tmp"}},
            {"zero_optimization.offload_param.nvme_path: '/var/tmp': weights and the optimizer are in one file: in "}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/tmp"}, "offload_param": {"device": "cpu"}}})",
            {{"parallel.mode", "zero3"}, {"memory.optimizer_offload.where", "disk"}, {"memory.parameter_offload", "cpu"}, {"memory.optimizer_offload.folder", "/tmp"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "mics_shard_size": 8, "mics_hierarchical_params_gather": true}})", {{"parallel.mode", "zero3"}, {"parallel.shard_ranks", "8"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"mics_shard_size": -1, "stage": 3}})", {{"parallel.mode", "zero3"}}, {}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "mics_shard_size": 1}})", {{"parallel.mode", "zero3"}}, {"zero_optimization.mics_shard_size: 1: shards of one rank are the whole"}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 2, "mics_shard_size": 4}})", {{"parallel.mode", "zero2"}}, {"zero_optimization.mics_shard_size: 4: acts with stage 3 alone"}},
           {R"({"train_batch_size": 2, )" + run + R"(, "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}})", {{"parallel.mode", "zero3"}}, {"zero_optimization.zero_hpz_partition_size: 8: a second copy of weights in each node"}},
           {R"({"train_batch_size": 2, "optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9}}, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 5, "total_num_steps": 20}}})",
            {{"optimizer.type", "sgd"}, {"optimizer.options.momentum", "0.9"}, {"schedule.type", "constant"}, {"schedule.warmup", "5 steps"}}, {"scheduler.params.warmup_type: : trainx's warm-up is a straight line"}},
       })
    check(c);
}

TEST_CASE("files go together: DeepSpeed's auto is what TrainingArguments say, Accelerate counts the processes") {
  const SourceFile arguments{"a.json", R"({"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "learning_rate": 3e-4, "max_steps": 50, "deepspeed": "ds.json"})"};
  const SourceFile deepspeed{"ds.json", R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}}, "zero_optimization": {"stage": 0, "reduce_bucket_size": "auto"}})"};
  const SourceFile accelerate{"acc.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 4\nnum_machines: 1\nuse_cpu: false\ndynamo_config: {dynamo_backend: 'NO', dynamo_mode: default}\n"};
  const Imported imported = import_settings({accelerate, deepspeed, arguments}, all_chosen());
  const auto recipe = recipe_of(imported);
  CHECK(recipe.at("batch.global_batch_size") == "32");
  CHECK(recipe.at("batch.micro_batch_size") == "4");
  CHECK(recipe.at("optimizer.lr") == "3e-4");
  CHECK(recipe.at("precision.compute") == "bf16");
  CHECK(lines(imported.leftovers) ==
        "acc.yaml:4:1: num_processes: 4: how many ranks there are is said when the run is launched (--nproc-per-node; on GPUs one for each); the batch stays as large, in more micro-steps\n");

  Choices two = all_chosen();
  two.world = 2;
  CHECK(recipe_of(import_settings({arguments}, two)).at("batch.global_batch_size") == "16");
  CHECK(refusal({arguments, {"ds.json", R"({"gradient_clipping": 1, "gradient_accumulation_steps": 8})"}}) ==
        "a.json:1:36: gradient_accumulation_steps stands against gradient_accumulation_steps at ds.json:1:26: 2 and 8 cannot both hold; make them agree, or leave one out");
  CHECK(refusal({arguments, arguments}).find("both of TrainingArguments") != std::string::npos);
  two.world = 3;
  CHECK(refusal({{"ds.json", R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2})"}}, two).starts_with("ds.json:1:2: train_batch_size (64) does not go with 4 samples a process"));
  const Imported alone = import_settings({deepspeed}, all_chosen());
  CHECK(lines(alone.leftovers).find("ds.json:1:2: train_batch_size: 'auto': transformers fills it in") == 0);
}

TEST_CASE("an optimizer or schedule that is not there is asked for, never replaced") {
  const Imported imported = import_settings({{"f", R"({"optim": "galore_adamw", "lr_scheduler_type": "reduce_lr_on_plateau", "max_steps": 5, "adam_beta1": 0.8, "weight_decay": 0.1})"}}, all_chosen());
  REQUIRE(imported.asked.size() == 2);
  CHECK(imported.asked[0].first == "optimizer.type");
  CHECK(imported.asked[1].first == "schedule.type");
  CHECK(lines(imported.leftovers).find("optim: 'galore_adamw': trainx has no such optimizer (low-rank projections of gradients): adamw") != std::string::npos);
  CHECK(lines(imported.leftovers).find("weight_decay: 0.1: belongs to an optimizer that is not chosen yet") != std::string::npos);
  try {
    recipe::parse_recipe(imported.recipe, "r.yaml");
    FAIL("a recipe without an optimizer was read");
  } catch (const recipe::RecipeError& e) {
    REQUIRE(e.problems().size() == 2);
    CHECK(e.problems()[0].find("optimizer.type: has no value") != std::string::npos);
    CHECK(e.problems()[1].find("schedule.type: has no value") != std::string::npos);
  }
  // Those that this trainx has follow from its lists.
  for (const auto& [theirs, ours] : {std::pair{"adafactor", "adafactor"}, {"lion_32bit", "lion"}, {"adamw_bnb_8bit", "adamw_8bit"}, {"adagrad", "adagrad"}, {"adamw_anyprecision", "adamw_anyprecision"}}) {
    const Imported one = import_settings({{"f", std::string(R"({"max_steps": 5, "optim": ")") + theirs + "\"}"}}, all_chosen());
    INFO(one.recipe);
    CHECK(one.asked.empty() == has_optimizer(ours));
    if (has_optimizer(ours)) CHECK(recipe_of(one).at("optimizer.type") == ours);
  }
}

TEST_CASE("what the files do not say stands in the recipe without a value") {
  const Imported imported = import_settings({{"f", R"({"zero_optimization": {"offload_param": {"device": "cpu"}}})"}}, {});
  std::string keys;
  for (const auto& [key, what] : imported.asked) keys += key + " ";
  CHECK(keys == "batch.global_batch_size batch.micro_batch_size data.sequence_length data.train data.type model.init_from optimizer.lr run.duration ");
  CHECK(imported.recipe.find("#   f:1:42: zero_optimization.offload_param.device: 'cpu': ") != std::string::npos);
  CHECK_THROWS_AS(recipe::parse_recipe(imported.recipe, "r.yaml"), recipe::RecipeError);
}

TEST_CASE("values of another type are refused in one sentence with their place") {
  for (const auto& [text, sentence] : std::vector<std::pair<std::string, std::string>>{
           {R"({"learning_rate": "fast"})", "f:1:2: learning_rate: must be a number, not 'fast'"},
           {"{\"max_steps\": 10,\n\"bf16\": 3}", "f:2:1: bf16: must be true or false, not 3"},
           {R"({"max_steps": 1.5})", "f:1:2: max_steps: must be a whole number, not 1.5"},
           {R"({"max_steps": 1, "lr_scheduler_kwargs": [1]})", "f:1:18: lr_scheduler_kwargs: must be a map, not a list"},
           {R"({"per_device_train_batch_size": 0})", "f:1:2: per_device_train_batch_size: must be a whole number from 1 to 1073741824, not 0"},
           {R"({"max_steps": 1, "save_strategy": "often"})", "f:1:18: save_strategy: must be no, steps, epoch or best, not 'often'"},
           {R"({"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"betas": [0.9]}}})", "f:1:66: optimizer.params.betas: must be a list of two numbers"},
           {R"({"foo": 1, "bar": 2})", "f: is neither Hugging Face's TrainingArguments nor DeepSpeed's nor Accelerate's configuration, none of whose keys it has; it begins with 'foo', 'bar'"},
       })
    CHECK(refusal({{"f", text}}) == sentence);
}

TEST_CASE("no text of a foreign file leaves its place in the recipe") {
  const Imported imported = import_settings({{"f", R"({"output_dir": "a/${env:HOME}: #x\n", "report_to": "x\ny: 1", "k\ney": "v", "max_steps": 3})"}}, all_chosen());
  INFO(imported.recipe);
  recipe::LoadOptions options;
  options.environment = [](const std::string&) { return std::optional<std::string>("taken"); };
  try {
    recipe::parse_recipe(imported.recipe, "r.yaml", options);
    FAIL("a name with a line's end was taken");
  } catch (const recipe::RecipeError& e) {
    REQUIRE(e.problems().size() == 1);
    CHECK(e.problems()[0].find("run.name: must not hold control characters, '${env:HOME}: #x\\n' does") != std::string::npos);
  }
}

}  // namespace trainx::foreign
