// FSDP, DeepSpeed and the Trainer's settings that trainx has under other names.
#include "imports/registry.hpp"
#include "unit/imports/support.hpp"

namespace trainx::imports::sharding_test {

using namespace testing;

TEST_CASE("FSDP's strategies become modes of ZeRO") {
  for (
      const Case& c : std::vector<Case>{
          {R"({"fsdp": "full_shard auto_wrap"})", {{"parallel.mode", "zero3"}}, {}},
          {R"({"fsdp": ["shard_grad_op"]})", {{"parallel.mode", "zero2"}}, {}},
          {R"({"fsdp": "hybrid_shard"})",
           {{"parallel.mode", "zero3"}, {"parallel.shard_ranks", "auto"}},
           {}},
          {R"({"fsdp": "no_shard"})", {{"parallel.mode", "ddp"}}, {}},
          {R"({"fsdp": "", "fsdp_config": {"min_num_params": 0, "xla": false}})",
           {{"parallel.mode", "auto"}},
           {}},
          {R"({"fsdp": "full_shard offload", "fsdp_config": {"activation_checkpointing": true, "xla": true, "odd": 1}})",
           {{"parallel.mode", "zero3"},
            {"memory.optimizer_offload.where", "cpu"},
            {"memory.parameter_offload", "cpu"},
            {"memory.activation_checkpoint", "full"}},
           {"fsdp_config.xla: true: ", "fsdp_config.odd: 1: "}},
          {R"({"fsdp": "shard_grad_op offload"})",
           {{"parallel.mode", "zero2"},
            {"memory.optimizer_offload.where", "cpu"},
            {"memory.parameter_offload", "none"}},
           {"fsdp: 'shard_grad_op offload': "}},
          {R"({"fsdp": true, "fsdp_config": {"reshard_after_forward": false}})",
           {{"parallel.mode", "zero2"}},
           {}},
          {R"({"fsdp": "everything"})", {}, {"fsdp: 'everything': "}},
      })
    check(c);
}

TEST_CASE("Accelerate's FSDP, hosts and ports") {
  const SourceFile run{"t.json", R"({"max_steps": 5, "per_device_train_batch_size": 2})"};
  const SourceFile accelerate{"a.yaml", R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_offload_params: false
  fsdp_transformer_layer_cls_to_wrap: GPT2Block
machine_rank: 1
main_process_ip: 10.0.0.1
main_process_port: 29501
mixed_precision: bf16
num_machines: 2
num_processes: 8
)"};
  const Imported imported = import_settings({run, accelerate}, all_chosen());
  const auto r = recipe_of(imported);
  CHECK(r.at("parallel.mode") == "zero3");
  CHECK(r.at("parallel.shard_ranks") == "4");
  CHECK(r.at("batch.global_batch_size") == "16");
  std::vector<std::pair<std::string, std::string>> expected{{"machine_rank", "--node-rank"},
                                                            {"main_process_ip", "--master-addr"},
                                                            {"main_process_port", "--master-port"},
                                                            {"num_machines", "--nnodes"},
                                                            {"num_processes", "--nproc-per-node"}};
  INFO(lines(imported.leftovers));
  REQUIRE(imported.leftovers.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(imported.leftovers[i].key == expected[i].first);
    CHECK(imported.leftovers[i].why.find(expected[i].second) != std::string::npos);
  }
}

TEST_CASE("DeepSpeed's settings that trainx has under other names") {
  const std::string run =
      R"({"train_batch_size": 2, "scheduler": {"type": "WarmupLR", "params": {"warmup_type": "linear", "warmup_max_lr": 1e-3, "warmup_num_steps": 2, "total_num_steps": 9}}, )";
  for (
      const Case& c : std::vector<Case>{
          {run + R"("communication_data_type": "bf16", "zero_optimization": {"stage": 1}})",
           {{"precision.reduce", "bf16"}},
           {}},
          {run + R"("communication_data_type": "fp16"})",
           {{"precision.reduce", "fp32"}},
           {"communication_data_type: 'fp16': "}},
          {run +
               R"("activation_checkpointing": {"cpu_checkpointing": true, "partition_activations": true}})",
           {{"memory.activation_offload", "cpu"}, {"memory.activation_checkpoint", "full"}},
           {"activation_checkpointing.partition_activations: true: "}},
          {run + R"("amp": {"enabled": true, "opt_level": "O1"}})",
           {{"precision.compute", "fp16"}},
           {}},
          {run + R"("tensorboard": {"enabled": true, "output_path": "x"}})",
           {{"metrics.tensorboard", "true"}},
           {}},
          {run +
               R"("optimizer": {"type": "CPUAdam", "params": {}}, "zero_optimization": {"offload_optimizer": {"device": "cpu"}}})",
           {{"optimizer.type", "adamw"}, {"memory.optimizer_offload.where", "cpu"}},
           {}},
          {run + R"("optimizer": {"type": "CPUAdam", "params": {}}})",
           {{"optimizer.type", "adamw"}},
           {"optimizer.type: 'CPUAdam': "}},
          {run +
               R"("elasticity": {"enabled": true, "max_train_batch_size": 8}, "wandb": {"enabled": true}})",
           {},
           {"elasticity: a map: ", "wandb: a map: "}},
      })
    check(c);
}

TEST_CASE("the Trainer's settings that trainx has under other names") {
  for (const Case& c : std::vector<Case>{
           {R"({"report_to": ["tensorboard", "wandb"]})",
            {{"metrics.tensorboard", "true"}},
            {"report_to: ['tensorboard', 'wandb']: "}},
           {R"({"report_to": "tensorboard"})", {{"metrics.tensorboard", "true"}}, {}},
           {R"({"report_to": "none"})", {{"metrics.tensorboard", "false"}}, {}},
           {R"({"auto_find_batch_size": true})", {{"memory.fit", "true"}}, {}},
           {R"({"ddp_timeout": 120, "save_on_each_node": true, "ddp_backend": "ucc"})",
            {{"run.hang_limit", "2 min"}},
            {"save_on_each_node: true: ", "ddp_backend: 'ucc': "}},
           {R"({"ddp_timeout": 1800, "ddp_find_unused_parameters": false})",
            {{"run.hang_limit", "1 min"}},
            {}},
           {R"({"torch_empty_cache_steps": 4, "use_cpu": true})",
            {{"memory.release_cache_every", "4 steps"}},
            {}},
           {R"({"torch_empty_cache_steps": 4})",
            {{"memory.release_cache_every", "null"}},
            {"torch_empty_cache_steps: 4: "}},
           {R"({"no_tf32": true})", {{"precision.compute", "fp32"}}, {}},
           {R"({"tf32": true, "fp16": true})", {{"precision.compute", "fp16"}}, {"tf32: true: "}},
           {R"({"overwrite_output_dir": true, "max_steps": 3})",
            {},
            {"overwrite_output_dir: true: "}},
           {R"({"do_eval": true, "max_steps": 30})", {{"eval.every", "30 steps"}}, {}},
           {R"({"do_eval": true, "eval_strategy": "steps", "eval_steps": 5, "max_steps": 30})",
            {{"eval.every", "5 steps"}},
            {}},
           {R"({"optim": "adamw_bnb_8bit"})",
            {{"optimizer.type", "adamw_8bit"}, {"optimizer.options.embeddings_32bit", "true"}},
            {}},
           {R"({"optim": "adamw_torch_8bit"})",
            {{"optimizer.options.embeddings_32bit", "false"}},
            {"optim: 'adamw_torch_8bit': "}},
           {R"({"label_smoothing_factor": 0.1, "torch_compile": true})",
            {{"model.options.label_smoothing", "0.1"}},
            {"torch_compile: true: "}},
       })
    check(c);
  CHECK(refusal({{"f", R"({"tf32": true, "no_tf32": true})"}}).starts_with("f:1:2: tf32: "));
}

TEST_CASE("the metric of the best checkpoint follows where recipes have one") {
  const Imported imported = import_settings(
      {{"f",
        R"({"metric_for_best_model": "eval_accuracy", "greater_is_better": true, "eval_strategy": "epoch"})"}},
      all_chosen());
  const bool is_there = takes_word("eval.best.metric", "accuracy");
  CHECK((imported.recipe.find("metric: accuracy") != std::string::npos) == is_there);
  CHECK(imported.leftovers.empty() == is_there);
}

}  // namespace trainx::imports::sharding_test
