#include "plan/explain/needless.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <cmath>

namespace needless_test {

using namespace trainx;

namespace {

const plan::Needless* on(const std::vector<plan::Needless>& all, const std::string& key) {
  for (const auto& n : all)
    if (n.key == key) return &n;
  return nullptr;
}

plan::RunPlan with(const std::string& more) {
  return planned(gpt2_recipe("precision: bf16\n" + more), {});
}

}  // namespace

TEST_CASE("a lever that nothing needs is told with its cost, which the plan without it confirms") {
  const auto plain = with("");
  CHECK(plan::needless_levers(plain).empty());
  struct Case {
    std::string key, more;
  };
  const auto c =
      GENERATE(Case{"memory.activation_checkpoint", "memory: {activation_checkpoint: full}\n"},
               Case{"memory.optimizer_offload", "memory: {optimizer_offload: cpu}\n"},
               Case{"memory.parameter_offload", "memory: {parameter_offload: cpu}\n"});
  const auto plan = with(c.more);
  const auto all = plan::needless_levers(plan);
  REQUIRE(all.size() == 1);
  CHECK(all[0].key == c.key);
  CHECK(all[0].better == "none");
  CHECK(std::abs(all[0].gain_s - (plan.time->step_s - plain.time->step_s)) < 1e-9);
  CHECK(all[0].more_bytes == plain.memory.total_bytes() - plan.memory.total_bytes());
  CHECK(all[0].share > 0.01);
}

TEST_CASE("a lever that the budget asks for is not told") {
  const auto none = with("memory: {activation_checkpoint: none}\n").memory.total_bytes(),
             full = with("memory: {activation_checkpoint: full}\n").memory.total_bytes();
  REQUIRE(full < none);
  const std::string budget = std::to_string((full + none) / 2) + " B";
  CHECK(
      plan::needless_levers(with("memory: {activation_checkpoint: full, budget: " + budget + "}\n"))
          .empty());
}

TEST_CASE("what recomputation costs beside copies is told where the rate of copies is known") {
  const auto of = [](const std::string& gpu) {
    const std::string levers = "activation_checkpoint: selective, activation_offload: cpu";
    const auto plan =
        planned(gpt2_recipe("precision: bf16\nmemory: {" + levers + "}\n"), {.gpu = gpu});
    REQUIRE(plan.step_rates);
    const bool knows_copies = plan.step_rates->host_bytes_per_s > 0;
    for (const auto& n : plan::needless_levers(plan)) {
      CAPTURE(gpu, n.key, n.gain_s);
      if (!knows_copies) CHECK(n.gain_s == 0);
    }
    return knows_copies;
  };
  CHECK(of("h200"));
  CHECK_FALSE(of("h100"));
}

TEST_CASE("of two levers, of which one is needed, the dearer goes") {
  const auto both = with("memory: {activation_checkpoint: full, optimizer_offload: cpu}\n");
  const auto recompute_alone = with("memory: {activation_checkpoint: full}\n");
  const std::string budget = std::to_string(recompute_alone.memory.total_bytes()) + " B";
  const auto all = plan::needless_levers(with(
      "memory: {activation_checkpoint: full, optimizer_offload: cpu, budget: " + budget + "}\n"));
  REQUIRE(both.memory.total_bytes() < recompute_alone.memory.total_bytes());
  REQUIRE(all.size() == 1);
  CHECK(all[0].key == "memory.optimizer_offload");
}

TEST_CASE("segments that save nothing are told, also where no rates are known") {
  const auto one = with("memory: {activation_checkpoint: full}\n"),
             twelve = with("memory: {activation_checkpoint: full, recompute_segment: 12}\n");
  const auto of_gpu = plan::needless_levers(twelve);
  const auto* segment = on(of_gpu, "memory.recompute_segment");
  CHECK((segment != nullptr) == (one.memory.total_bytes() <= twelve.memory.total_bytes() &&
                                 one.time->step_s <= twelve.time->step_s));
  if (segment) CHECK(segment->more_bytes <= 0);
  CHECK(on(of_gpu, "memory.activation_checkpoint"));
  const auto recipe = gpt2_recipe("memory: {activation_checkpoint: full, recompute_segment: 12}\n");
  const auto cpu = planned(recipe, {.gpu = ""}),
             cpu_one = planned(gpt2_recipe("memory: {activation_checkpoint: full}\n"), {.gpu = ""});
  const auto told = plan::needless_levers(cpu);
  CHECK((on(told, "memory.recompute_segment") != nullptr) ==
        (cpu_one.memory.total_bytes() <= cpu.memory.total_bytes()));
}

TEST_CASE("shards that nothing needs are told if they cost at least a hundredth of a step") {
  for (const char* precision : {"fp32", "bf16"})
    for (const char* mode : {"zero1", "zero3"}) {
      const std::string ranks = std::string("precision: ") + precision +
                                "\nparallel: {world_size: 2, mode: ";
      const auto shards = planned(gpt2_recipe(ranks + mode + "}\n"), {}),
                 ddp = planned(gpt2_recipe(ranks + "ddp}\n"), {});
      CAPTURE(precision, mode, shards.time->step_s, ddp.time->step_s);
      const auto all = plan::needless_levers(shards);
      const auto* told = on(all, "parallel.mode");
      CHECK((told != nullptr) ==
            (shards.time->step_s - ddp.time->step_s >= 0.01 * shards.time->step_s));
      if (told) CHECK(told->more_bytes == ddp.memory.total_bytes() - shards.memory.total_bytes());
    }
}

TEST_CASE("few steps of an epoch with a batch made of many micro-batches come with a hint") {
  facts::Facts f;
  f.hardware.memory_bytes = std::int64_t{64} << 30;
  const auto hint = [&](std::int64_t samples, const std::string& batch,
                        const std::string& optimizer) {
    f.data = {true, true, samples, 100, 0, {}, ""};
    const auto recipe =
        recipe::parse_recipe(
            "model: {type: gpt2, options: {num_layers: 1, num_heads: 1, hidden_size: 64}}\ndata: "
            "{type: stories, sequence_length: 8}\nbatch: {" +
                batch + "}\noptimizer: {type: " + optimizer + "}\n",
            "test")
            .recipe;
    return plan::batch_hint(plan::make_run_plan(recipe, f));
  };
  const std::string sixteen = "global_batch_size: 64, micro_batch_size: 4";
  for (const char* optimizer : {"adamw", "sgd"}) {
    const std::string few = hint(640, sixteen, optimizer);
    CHECK(few.find("10 steps") != std::string::npos);
    CHECK(few.find("batch.global_batch_size") != std::string::npos);
    CHECK(few.find("optimizer.lr") == std::string::npos);  // nobody said of what batch it is
  }
  CHECK(hint(64000, sixteen, "adamw").empty());
  CHECK(hint(640, "global_batch_size: 64, micro_batch_size: 64", "adamw").empty());
}

TEST_CASE("on a CPU levers that the run fits without are told, without a cost") {
  struct Case {
    std::string key, more;
  };
  const auto c =
      GENERATE(Case{"memory.activation_checkpoint", "memory: {activation_checkpoint: full}\n"},
               Case{"memory.optimizer_offload", "memory: {optimizer_offload: cpu}\n"},
               Case{"parallel.mode", "parallel: {world_size: 2, mode: zero3}\n"});
  const auto all = plan::needless_levers(planned(gpt2_recipe(c.more), {.gpu = ""}));
  CAPTURE(c.key);
  REQUIRE(all.size() == 1);
  CHECK(all[0].key == c.key);
  CHECK(all[0].gain_s == 0);
  CHECK(plan::needless_levers(planned(gpt2_recipe(""), {.gpu = ""})).empty());
  const auto tight = planned(gpt2_recipe(c.more), {.gpu = ""}).memory.total_bytes();
  const auto plain =
      c.key == "parallel.mode"
          ? planned(gpt2_recipe("parallel: {world_size: 2, mode: ddp}\n"), {.gpu = ""})
          : planned(gpt2_recipe(""), {.gpu = ""});
  if (plain.memory.total_bytes() > tight)
    CHECK(plan::needless_levers(planned(gpt2_recipe(c.more), {.host_bytes = tight, .gpu = ""}))
              .empty());
}

}  // namespace needless_test
