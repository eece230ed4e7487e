// What trainx chooses on machines that are made up: does it fit on one GPU, does the largest block,
// how fast are the links?
#include "core/error.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "recipe/value.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <cmath>

namespace decision_tree_test {

using namespace trainx;
using recipe::ActivationOffload, recipe::OptimizerOffload, recipe::ParallelMode,
    recipe::ParameterOffload;

namespace {

struct Machine {
  std::int64_t ranks = 1, ranks_of_a_node = 1;
  // as `trainx doctor` measures them; 0: it did not
  double link_bytes_per_s = 0, host_bytes_per_s = 0;
};

constexpr double fast_links = 400e9, slow_links = 1e9;

struct Workload {
  std::string memory, parallel,
      optimizer = "{type: adamw}",
      model = "{type: gpt2, options: {num_layers: 6, hidden_size: 2048, num_heads: 16}}",
      batch = "{global_batch_size: 32, micro_batch_size: 4}";
};

facts::Facts facts_of(const Machine& m) {
  facts::Facts f;
  f.hardware.cpu_cores = 8;
  f.hardware.memory_bytes = std::int64_t{512} << 30;
  f.hardware.local_ranks = m.ranks_of_a_node;
  f.hardware.gpus.assign(static_cast<std::size_t>(m.ranks_of_a_node),
                         facts::Gpu{"NVIDIA H200", 90, 150754820096});
  f.hardware.link_bytes_per_s = m.link_bytes_per_s;
  f.hardware.link_latency_s = m.link_bytes_per_s > 0 ? 1e-5 : 0;
  f.hardware.host_bytes_per_s = m.host_bytes_per_s;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return f;
}

plan::RunPlan planned(const Machine& m, const Workload& w) {
  const std::string text =
      "model: " + w.model +
      "\ndata: {type: stories, sequence_length: 512}\nprecision: bf16\nbatch: " + w.batch +
      "\noptimizer: " + w.optimizer + "\nmemory: {" + w.memory +
      "}\nparallel: {world_size: " + std::to_string(m.ranks) +
      (w.parallel.empty() ? "" : ", " + w.parallel) + "}\n";
  const auto plan = plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, facts_of(m));
  // Whatever is chosen: the optimisation problem stays, it fits, and what is written down plans to
  // itself.
  CHECK(plan.batch.global_batch_size == 32);
  CHECK(plan.batch.micro_batch_size * plan.batch.grad_accum_steps * plan.mesh.world == 32);
  CHECK(plan.memory.total_bytes() <= plan.memory.budget_bytes);
  const auto again = plan::make_run_plan(
      recipe::parse_recipe(recipe::dump(plan.recipe), "resolved").recipe, facts_of(m));
  CHECK(plan::fingerprint(plan) == plan::fingerprint(again));
  return plan;
}

std::string budget(std::int64_t bytes, bool fit = true) {
  return "budget: " + std::to_string(bytes) + " B" + (fit ? ", fit: true" : "");
}

std::string all_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& l : lines) text += l + "\n";
  return text;
}

bool says(const plan::RunPlan& plan, const std::string& what) {
  return all_of(plan.choices).find(what) != std::string::npos;
}

std::int64_t bytes_of(const Machine& m, const Workload& w) {
  return planned(m, w).memory.total_bytes();
}

}  // namespace

TEST_CASE("one GPU that holds the run: nothing is recomputed, nothing leaves it") {
  const auto plan = planned({}, {"fit: true"});
  CHECK(plan.mode == ParallelMode::single);
  CHECK(plan.recipe.memory.optimizer_offload.where == OptimizerOffload::none);
  CHECK(plan.recipe.memory.activation_offload == ActivationOffload::none);
  CHECK(says(plan, "memory.fit changes nothing: the run fits as it is written"));
}

TEST_CASE("one GPU that holds the model and not the batch: a smaller cut, on the GPU") {
  const std::string whole_batch = "{global_batch_size: 32, micro_batch_size: 32}";
  const std::int64_t whole = bytes_of({}, {.batch = whole_batch}),
                     small =
                         bytes_of({}, {.batch = "{global_batch_size: 32, micro_batch_size: 8}"});
  const auto plan = planned({}, {.memory = budget((whole + small) / 2), .batch = whole_batch});
  INFO(all_of(plan.choices));
  CHECK((plan.batch.micro_batch_size < 32 ||
         plan.recipe.memory.activation_checkpoint.value->front() != RecomputeLevel::none));
  CHECK(plan.recipe.memory.optimizer_offload.where == OptimizerOffload::none);
  CHECK(plan.recipe.memory.activation_offload == ActivationOffload::none);
}

TEST_CASE(
    "one GPU that does not hold the model: the optimizer goes to the host, with its price, and "
    "only where the recipe lets trainx choose") {
  const std::string least = "activation_checkpoint: full";
  const std::string one = "{global_batch_size: 32, micro_batch_size: 1}";
  const std::int64_t on_gpu = bytes_of({}, {.memory = least, .batch = one}),
                     on_host =
                         bytes_of({}, {.memory = least + ", optimizer_offload: cpu", .batch = one});
  REQUIRE(on_host < on_gpu);
  const std::int64_t have = (on_gpu + on_host) / 2;
  const auto plan = planned({}, {.memory = budget(have)});
  INFO(all_of(plan.choices));
  CHECK(plan.recipe.memory.optimizer_offload.where == OptimizerOffload::cpu);
  check_sentence("plan.decision_tree/optimizer_offload",
                 line_with(all_of(plan.choices), "memory.optimizer_offload cpu: "), Numbers::any);
  // the price is what the same step takes longer than with the optimizer on the GPU
  recipe::Recipe beside = plan.recipe;
  beside.memory.optimizer_offload = {};
  beside.memory.budget = {};
  const double without_s = plan::make_run_plan(beside, facts_of({})).time->step_s;
  const std::string told = line_with(all_of(plan.choices), "memory.optimizer_offload cpu: ");
  const double price = std::stod(told.substr(told.find("costs ") + 6));
  CHECK(price > 1);
  CHECK(std::abs(price - 100 * (plan.time->step_s / without_s - 1)) < 0.2);
  const std::string refusal = user_error_of([&] { planned({}, {.memory = budget(have, false)}); });
  CHECK(refusal.find("memory.optimizer_offload cpu") != std::string::npos);
  CHECK(refusal.find("memory.fit: true") != std::string::npos);
  check_error("plan.decision_tree/optimizer_offload_would_fit", 71, refusal, Numbers::any);
}

TEST_CASE(
    "one GPU that holds the run if the batch is cut or the host helps: what costs less of a step "
    "by the copies that were measured") {
  const Workload whole{.batch = "{global_batch_size: 32, micro_batch_size: 32}"};
  const std::int64_t roomy = bytes_of({}, whole);
  Workload work = whole;
  work.memory = budget(roomy - (std::int64_t{1} << 29)) + ", activation_checkpoint: none";
  const auto fast = planned({.host_bytes_per_s = 1e15}, work),
             slow = planned({.host_bytes_per_s = 1e8}, work);
  INFO(all_of(fast.choices) << all_of(slow.choices));
  CHECK((fast.recipe.memory.optimizer_offload.where == OptimizerOffload::cpu ||
         fast.recipe.memory.activation_offload == ActivationOffload::cpu));
  CHECK(says(fast, "without the host the fastest that fits would take "));
  CHECK(slow.recipe.memory.optimizer_offload.where == OptimizerOffload::none);
  CHECK(slow.recipe.memory.activation_offload == ActivationOffload::none);
}

TEST_CASE(
    "what is chosen for one GPU is no slower than any other way to fit, with many micro-steps "
    "too") {
  const std::string one = "{global_batch_size: 32, micro_batch_size: 1}";
  const std::int64_t on_gpu = bytes_of({}, {.memory = "activation_checkpoint: full", .batch = one});
  for (const std::int64_t have : {on_gpu + on_gpu / 20, on_gpu - on_gpu / 20}) {
    const auto chosen = planned(
        {}, {.memory = budget(have), .batch = "{global_batch_size: 32, micro_batch_size: 32}"});
    for (const char* micro : {"1", "2", "4", "8"})
      for (const char* level : {"none", "full"})
        for (const char* optimizer : {"none", "cpu"}) {
          const Workload work{
              .memory = budget(have, false) + ", activation_checkpoint: " + level +
                        ", optimizer_offload: " + optimizer,
              .batch = std::string("{global_batch_size: 32, micro_batch_size: ") + micro + "}"};
          CAPTURE(have, micro, level, optimizer, all_of(chosen.choices));
          double other_s = 0;  // of those that fit
          const std::string refusal =
              user_error_of([&] { other_s = planned({}, work).time->step_s; });
          if (other_s > 0)
            CHECK(chosen.time->step_s <= 1.011 * other_s);
          else
            CHECK(refusal.starts_with("71: "));
        }
  }
}

TEST_CASE(
    "one GPU that holds neither the model nor a batch: both wait on the host; beyond that the "
    "largest block is named") {
  // the batch must stay whole
  const std::string in_backward = "{type: adamw, max_grad_norm: 0, update_in_backward: true}",
                    whole = "{global_batch_size: 32, micro_batch_size: 32}";
  const auto with = [&](const std::string& memory) {
    return Workload{.memory = memory, .optimizer = in_backward, .batch = whole};
  };
  const std::int64_t both = bytes_of(
      {}, with("activation_checkpoint: full, activation_offload: cpu, optimizer_offload: cpu"));
  const std::int64_t optimizer =
                         bytes_of({}, with("activation_checkpoint: full, optimizer_offload: cpu")),
                     activations =
                         bytes_of({}, with("activation_checkpoint: full, activation_offload: cpu"));
  REQUIRE(both < std::min(optimizer, activations));
  const auto plan = planned({}, with(budget(both)));
  INFO(all_of(plan.choices));
  CHECK(plan.recipe.memory.optimizer_offload.where == OptimizerOffload::cpu);
  CHECK(plan.recipe.memory.activation_offload == ActivationOffload::cpu);
  const std::string refusal =
      user_error_of([&] { planned({}, with(budget(std::int64_t{1} << 30))); });
  CHECK(refusal.find("batch.micro_batch_size 32") != std::string::npos);
  check_error("plan.decision_tree/nothing_fits", 71, refusal, Numbers::any);
}

TEST_CASE(
    "one GPU that does not hold the weights: they come from the host too, as the last resort") {
  const std::string
      one = "{global_batch_size: 32, micro_batch_size: 1}",
      least = "activation_checkpoint: full, activation_offload: cpu, optimizer_offload: cpu";
  const std::int64_t here = bytes_of({}, {.memory = least, .batch = one}),
                     away =
                         bytes_of({}, {.memory = least + ", parameter_offload: cpu", .batch = one});
  REQUIRE(away < here);
  const auto plan = planned({}, {.memory = budget(away + (here - away) / 8)}),
             roomier = planned({}, {.memory = budget(here)});
  INFO(all_of(plan.choices));
  CHECK(plan.recipe.memory.parameter_offload == ParameterOffload::cpu);
  check_sentence("plan.decision_tree/parameter_offload",
                 line_with(all_of(plan.choices), "memory.parameter_offload cpu: "), Numbers::any);
  CHECK(roomier.recipe.memory.parameter_offload == ParameterOffload::none);
  CHECK(user_error_of([&] {
          planned({}, {.memory = budget(away + (here - away) / 8, false)});
        }).find("memory.parameter_offload cpu") != std::string::npos);
  // On a disk they are where that was written, and stay there.
  const std::string on_disk = ", parameter_offload: disk";
  CHECK(planned({}, {.memory = budget(away + (here - away) / 8) + on_disk})
            .recipe.memory.parameter_offload == ParameterOffload::disk);
  CHECK(planned({}, {.memory = budget(here) + on_disk}).recipe.memory.parameter_offload ==
        ParameterOffload::disk);
  const Machine four{4, 4, fast_links};
  const std::int64_t whole =
      bytes_of(four, {.memory = "parameter_offload: disk", .parallel = "mode: ddp"});
  const auto shards = planned(four, {.memory = budget(whole - 1, false) + on_disk});
  CHECK(shards.mode == ParallelMode::zero3);
  CHECK(shards.recipe.memory.parameter_offload == ParameterOffload::disk);
}

TEST_CASE(
    "GPUs of one node: what costs least by the links; of little memory zero3 where they are fast "
    "and not where they are slow") {
  const Machine fast{4, 4, fast_links}, slow{4, 4, slow_links};
  for (const Machine& machine : {fast, slow}) {
    const auto roomy = planned(machine, {});
    for (const std::string mode : {"ddp", "zero1", "zero2", "zero3"}) {
      const auto other = planned(machine, {.parallel = "mode: " + mode});
      CAPTURE(mode, all_of(roomy.choices));
      CHECK(roomy.time->step_s <= 1.011 * other.time->step_s);
    }
  }
  // zero3 alone has room, if it does not keep weights from forward to backward
  const std::int64_t have = bytes_of({4, 4}, {.parallel = "mode: zero2"}) * 97 / 100;
  const auto by_fast = planned(fast, {.memory = budget(have)}),
             by_slow = planned(slow, {.memory = budget(have)});
  INFO(all_of(by_fast.choices) << all_of(by_slow.choices));
  CHECK(by_fast.zero_stage() == 3);
  CHECK(by_slow.zero_stage() < 3);
  for (const auto* plan : {&by_fast, &by_slow}) {
    CHECK(says(*plan, "ddp, where each rank holds the whole model, needs "));
    CHECK(says(*plan, " of a step more"));
  }
  // No mode that is written does better.
  for (const auto& [machine, chosen] : {std::pair{fast, &by_fast}, {slow, &by_slow}})
    for (const std::string mode : {"ddp", "zero1", "zero2", "zero3"}) {
      const auto other = planned(machine, {.memory = budget(have), .parallel = "mode: " + mode});
      CAPTURE(mode, all_of(other.choices));
      CHECK(chosen->time->step_s <= 1.011 * other.time->step_s);
    }
  // Without fit nothing but the mode is trainx's to choose.
  const auto plain = planned(slow, {.memory = budget(have, false)});
  CHECK(plain.zero_stage() == 3);
  CHECK(plain.recipe.memory.optimizer_offload.where == OptimizerOffload::none);
  // Links that nobody measured are taken to be those of the GPU's kind.
  const auto of_kind =
      planned({4, 4}, {.memory = budget(bytes_of(fast, {.parallel = "mode: zero1"}))});
  CHECK(of_kind.zero_stage() > 0);
  CHECK(of_kind.time->step_s <= 1.011 * planned({4, 4}, {.parallel = "mode: zero1"}).time->step_s);
}

TEST_CASE("GPUs of one node whose links cost more than recomputation: each holds the whole model") {
  const Machine slow{4, 4, slow_links};
  // A step of many micro-steps whose activations alone are too many: what shards free is not what
  // is short, and zero2 and zero3 would talk in each of them.
  const std::string whole = "{global_batch_size: 32, micro_batch_size: 8}";
  const std::int64_t none = bytes_of(slow, {.batch = whole}),
                     full =
                         bytes_of(slow, {.memory = "activation_checkpoint: full", .batch = whole});
  const auto plan = planned(slow, {.memory = budget(none - (none - full) / 4), .batch = whole});
  INFO(all_of(plan.choices));
  CHECK(plan.zero_stage() < 2);
  if (plan.mode == ParallelMode::ddp) CHECK(says(plan, "and fits with what memory.fit chooses"));
}

TEST_CASE("GPUs of one node that do not hold a shard either: shards, and the host beside them") {
  const Machine node{4, 4, fast_links};
  const std::string least = "activation_checkpoint: full",
                    one = "{global_batch_size: 32, micro_batch_size: 1}";
  std::int64_t shards = bytes_of(node, {.memory = least, .parallel = "mode: zero3", .batch = one}),
               on_host = bytes_of(
                   node, {.memory = least + ", optimizer_offload: cpu, activation_offload: cpu",
                          .parallel = "mode: zero3",
                          .batch = one});
  REQUIRE(on_host < shards);
  const auto plan = planned(node, {.memory = budget(on_host + (shards - on_host) / 8)});
  INFO(all_of(plan.choices));
  CHECK(plan.zero_stage() > 0);
  CHECK((plan.recipe.memory.optimizer_offload.where == OptimizerOffload::cpu ||
         plan.recipe.memory.activation_offload == ActivationOffload::cpu));
  // Lamb's updates sum over tensors, of which a host with shards has parts: there the optimizer
  // stays.
  const auto lamb = user_error_of([&] {
    const auto p = planned(
        node, {.memory = budget(on_host + (shards - on_host) / 8), .optimizer = "{type: lamb}"});
    CHECK(
        (p.zero_stage() == 0 || p.recipe.memory.optimizer_offload.where == OptimizerOffload::none));
  });
  CHECK((lamb == "nothing thrown" || lamb.starts_with("71: ")));
}

TEST_CASE(
    "several nodes: shards within a node where they fit, in the first mode that does, else among "
    "all ranks") {
  const Machine nodes{8, 4};
  std::map<ParallelMode, std::int64_t> within;
  for (const std::string mode : {"zero1", "zero2", "zero3"}) {
    const auto plan = planned(nodes, {.parallel = "mode: " + mode + ", shard_ranks: 4"});
    within[plan.mode] = plan.memory.total_bytes();
  }
  CHECK(planned(nodes, {}).mesh.shard <= 4);
  CHECK(planned(nodes, {}).time->step_s <=
        1.011 * planned(nodes, {.parallel = "mode: ddp"}).time->step_s);
  for (const auto& [mode, have] : within) {
    const auto plan = planned(nodes, {.memory = budget(have, false)});
    INFO(all_of(plan.choices));
    CHECK(plan.zero_stage() > 0);
    CHECK(plan.mesh.shard == 4);
    CHECK(*plan.recipe.parallel.shard_ranks.value == 4);
    CHECK(says(plan,
               "parallel.shard_ranks 4: shards lie among the 4 ranks of one node, so that weights "
               "are gathered within it"));
  }
  const std::int64_t all = bytes_of(nodes, {.parallel = "mode: zero3, shard_ranks: 8"});
  REQUIRE(all < within[ParallelMode::zero3]);
  // zero3 within a node needs less if it keeps no weights from forward to backward
  std::int64_t have = within[ParallelMode::zero3];
  while (have > all / 2 && planned(nodes, {.memory = budget(have, false)}).mesh.shard == 4)
    have = have / 100 * 99;
  const auto wide = planned(nodes, {.memory = budget(have, false)});
  INFO(all_of(wide.choices));
  CHECK(wide.mesh.shard == 8);
  CHECK(
      says(wide, "parallel.shard_ranks 8, all: shards among the 4 ranks of one node would need "));
  // With memory.fit recomputation comes after both.
  const auto fitted = planned(nodes, {.memory = budget(all - 1)});
  INFO(all_of(fitted.choices));
  CHECK(fitted.zero_stage() > 0);
}

}  // namespace decision_tree_test
