#include "plan/choose/degrees.hpp"
#include "plan/choose/experts.hpp"
#include "plan/explain/alternatives.hpp"
#include "plan/explain/needless.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/user_error.hpp"

namespace degrees_test {

using namespace trainx;
using recipe::ParallelMode;

namespace {

const std::string small =
    "{type: gpt2, options: {num_layers: 4, num_heads: 4, hidden_size: 256, max_positions: 64, "
    "vocab_size: 1000}}";

struct Run {
  std::string parallel, model = small, more = "batch: {global_batch_size: 16}\n", gpu = "";
  std::int64_t local_ranks = 8, length = 64;
};

facts::Facts facts_of(const Run& run) {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{512} << 30;
  f.hardware.local_ranks = run.local_ranks;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return f;
}

recipe::Recipe recipe_of(const Run& run) {
  const bool has_optimizer = run.more.find("optimizer:") != std::string::npos;
  return recipe::parse_recipe("model: " + run.model + "\ndata: {type: stories, sequence_length: " +
                                  std::to_string(run.length) + "}\n" +
                                  (has_optimizer ? "" : "optimizer: {type: adamw}\n") +
                                  "parallel: {" + run.parallel + "}\n" + run.more,
                              "test")
      .recipe;
}

plan::RunPlan planned(const Run& run) {
  return plan::make_run_plan(recipe_of(run), facts_of(run), {.gpu = run.gpu});
}

std::string choices_of(const plan::RunPlan& plan) {
  std::string text;
  for (const std::string& line : plan.choices) text += line + "\n";
  return text;
}

std::string says(const plan::RunPlan& plan, const std::string& key) {
  return line_with(choices_of(plan), key + ":");
}

plan::Degrees degrees_of(const plan::RunPlan& plan) {
  return {plan.mesh.tensor, plan.mesh.context, plan.mesh.pipeline};
}

const std::string both = "tensor: auto, context: auto, world_size: ";

/// Of a rank's memory as each degree alone needs it.
std::int64_t bytes_of(Run run, const std::string& parallel) {
  run.parallel = parallel;
  return planned(run).memory.total_bytes();
}

std::string budget(std::int64_t bytes) {
  return "memory: {budget: " + std::to_string(bytes) + " B}\n";
}

}  // namespace

TEST_CASE("degrees are the divisors of the ranks, fewest ranks that share a batch first") {
  const auto degrees = [](const std::string& parallel) {
    std::string text;
    for (const plan::Degrees& d : plan::degrees_of(recipe_of({.parallel = parallel})))
      text += std::to_string(d.tensor) + "x" + std::to_string(d.context) + " ";
    return text;
  };
  CHECK(degrees(both + "1") == "1x1 ");
  CHECK(degrees(both + "7") == "1x1 1x7 7x1 ");
  CHECK(degrees(both + "4") == "1x1 1x2 2x1 1x4 2x2 4x1 ");
  CHECK(degrees("tensor: auto, context: 2, world_size: 8") == "1x2 2x2 4x2 ");
  CHECK(degrees("context: auto, world_size: 6") == "1x1 1x2 1x3 1x6 ");
  CHECK(degrees("tensor: auto, context: auto") == "1x1 ");  // how many there are is not known
  std::string text;
  for (const plan::Degrees& d : plan::degrees_of(
           recipe_of({.parallel = "tensor: auto, pipeline: auto, context: 2, world_size: 8"})))
    text += std::to_string(d.tensor) + "x" + std::to_string(d.context) + "x" +
            std::to_string(d.pipeline) + " ";
  CHECK(text == "1x2x1 1x2x2 2x2x1 1x2x4 2x2x2 4x2x1 ");
}

TEST_CASE("where a run fits its ranks share no batch, and the plan names the price") {
  const auto plan = planned({.parallel = both + "4"});
  CHECK(degrees_of(plan) == plan::Degrees{1, 1});
  CHECK(*plan.recipe.parallel.tensor.value == 1);
  CHECK(*plan.recipe.parallel.context.value == 1);
  check_sentence("plan.degrees/untimed", says(plan, "parallel.tensor 1"), Numbers::any);

  const Run timed{.parallel = both + "8",
                  .model = "{type: gpt2, size: 350m}",
                  .more = "batch: {global_batch_size: 64}\nprecision: bf16\n",
                  .gpu = "h100",
                  .length = 1024};
  const auto on_gpu = planned(timed);
  INFO(choices_of(on_gpu));
  CHECK(degrees_of(on_gpu) == plan::Degrees{1, 1});
  check_sentence("plan.degrees/tensor", says(on_gpu, "parallel.tensor 1"), Numbers::any);
  check_sentence("plan.degrees/context", says(on_gpu, "parallel.context 1"), Numbers::any);
}

TEST_CASE("ranks share a batch where nothing else fits, as a run does that says the number") {
  for (const char* key : {"tensor", "context", "pipeline"})
    for (const std::string gpu : {"", "h100"}) {
      CAPTURE(key, gpu);
      Run run{.more = "batch: {global_batch_size: 4}\n", .gpu = gpu};
      const bool rows = key == std::string("context");  // long ones: activations do not fit
      const bool layers = key == std::string("pipeline");
      if (layers) run.more = "batch: {global_batch_size: 4, micro_batch_size: 1}\n";
      if (rows) run.length = gpu.empty() ? 8192 : 16384;
      if (rows || !gpu.empty())
        run.model = "{type: gpt2, options: {num_layers: 8, num_heads: 16, hidden_size: " +
                    std::string(gpu.empty() ? "64"
                                : layers    ? "2048"
                                            : "1024") +
                    ", max_positions: 16384, " +
                    "vocab_size: " + (rows || layers ? "1000" : "100000") + "}}";
      const std::string mode = "mode: ddp, world_size: 4, ", name = key;
      const std::int64_t one = bytes_of(run, mode + name + ": 1"),
                         two = bytes_of(run, mode + name + ": 2");
      REQUIRE(two < one);
      run.more += budget(two);
      run.parallel = mode + name + ": auto";
      const auto chosen = planned(run);
      INFO(choices_of(chosen));
      const int number = name == "tensor"    ? chosen.mesh.tensor
                         : name == "context" ? chosen.mesh.context
                                             : chosen.mesh.pipeline;
      CHECK(degrees_of(chosen).ranks() == number);
      CHECK((gpu.empty() ? number == 2 : number >= 2));  // the fastest that fits
      if (gpu.empty())
        check_sentence("plan.degrees/only_" + name, says(chosen, "parallel." + name + " 2"),
                       Numbers::any);
      run.parallel = mode + name + ": " + std::to_string(number);
      const auto written = planned(run);
      CHECK(plan::fingerprint(chosen) == plan::fingerprint(written));
      CHECK(recipe::dump(chosen.recipe) == recipe::dump(written.recipe));
    }
}

TEST_CASE("of both keys one may be a number") {
  const auto plan = planned({.parallel = "mode: ddp, tensor: auto, context: 2, world_size: 4"});
  CHECK(degrees_of(plan) == plan::Degrees{1, 2});
  CHECK(choices_of(plan).find("parallel.context 1") == std::string::npos);
}

TEST_CASE("a plan with auto equals the plan with the numbers that it chose") {
  for (const std::string gpu : {"", "h100"})
    for (const int world : {1, 2, 4, 6, 7, 8}) {
      CAPTURE(gpu, world);
      Run run{.parallel = both + std::to_string(world),
              .more = "batch: {global_batch_size: " + std::to_string(2 * world) + "}\n",
              .gpu = gpu};
      const auto chosen = planned(run);
      run.parallel = "world_size: " + std::to_string(world) +
                     ", tensor: " + std::to_string(chosen.mesh.tensor) +
                     ", context: " + std::to_string(chosen.mesh.context);
      CHECK(plan::fingerprint(chosen) == plan::fingerprint(planned(run)));
    }
}

TEST_CASE("fewer samples than ranks make ranks share them") {
  const auto plan = planned({.parallel = both + "8", .more = "batch: {global_batch_size: 4}\n"});
  CHECK(degrees_of(plan).ranks() == 2);
  CHECK(plan.batch.global_batch_size == 4);
  const std::string key = plan.mesh.tensor > 1 ? "parallel.tensor" : "parallel.context";
  check_sentence("plan.degrees/fewer_samples", says(plan, key + " 2"));
  // all that is written decides which ranks may share
  const auto written = planned(
      {.parallel = both + "8",
       .more = "batch: {global_batch_size: 8, micro_batch_size: 4, grad_accum_steps: 1}\n"});
  CHECK(degrees_of(written).ranks() == 4);
  CHECK_THAT(user_error_of([] {
               planned({.parallel = both + "8", .more = "batch: {global_batch_size: 3}\n"});
             }),
             ContainsSubstring("78: ") && ContainsSubstring("batch.global_batch_size"));
}

TEST_CASE("what cannot be cut is left out, with the reason") {
  const auto reason = [](const Run& run, const std::string& key) {
    const auto plan = planned(run);
    CHECK(degrees_of(plan) == plan::Degrees{1, 1});
    return says(plan, key + " 1");
  };
  // neither 4 heads nor 64 tokens are of 7 ranks
  const Run prime{.parallel = both + "7", .more = "batch: {global_batch_size: 14}\n"};
  check_sentence("plan.degrees/prime_tensor", reason(prime, "parallel.tensor"));
  check_sentence("plan.degrees/prime_context", reason(prime, "parallel.context"));
  // 3 heads of 3 ranks, and 2 that divide nothing
  const std::string odd =
      "{type: gpt2, options: {num_layers: 2, num_heads: 3, hidden_size: 192, max_positions: 64, "
      "vocab_size: 1000}}";
  check_sentence("plan.degrees/heads",
                 reason({.parallel = both + "2", .model = odd}, "parallel.tensor"));
  check_sentence("plan.degrees/dp",
                 reason({.parallel = "mode: dp, " + both + "2"}, "parallel.tensor"));
  check_sentence(
      "plan.degrees/generate",
      reason({.parallel = both + "2",
              .more = "batch: {global_batch_size: 16}\ngenerate: {every: 5 steps, prompt: a}\n"},
             "parallel.context"));
  const std::string experts =
      "{type: mixtral, options: {num_layers: 2, num_heads: 4, num_key_value_heads: 2, "
      "hidden_size: 64, intermediate_size: 64, max_positions: 64, vocab_size: 1000}}";
  check_sentence(
      "plan.degrees/experts",
      reason({.parallel = "experts: 2, " + both + "2", .model = experts}, "parallel.tensor"));
}

TEST_CASE("a search shares experts among ranks with tokens of a row, not with parts of a layer") {
  const std::string experts =
      "{type: mixtral, options: {num_layers: 2, num_heads: 4, num_key_value_heads: 2, "
      "hidden_size: 64, intermediate_size: 64, max_positions: 64, vocab_size: 1000}}";
  const auto ranks = [&](const std::string& parallel) {
    const Run run{.parallel = parallel + "world_size: 4", .model = experts};
    return plan::expert_ranks_of(plan::draft_run(recipe_of(run), facts_of(run), {}).plan, true);
  };
  CHECK(ranks("") == std::vector{1, 2, 4});
  CHECK(ranks("context: 2, ") == std::vector{1, 2, 4});
  CHECK(ranks("tensor: 2, ") == std::vector{1});
}

TEST_CASE("one rank shares with nobody, and nothing is said of it") {
  const auto plan = planned({.parallel = both + "1"});
  CHECK(degrees_of(plan) == plan::Degrees{1, 1});
  CHECK(plan.mode == ParallelMode::single);
  CHECK(choices_of(plan).find("parallel.") == std::string::npos);
  CHECK(degrees_of(planned({.parallel = "tensor: auto, context: auto"})) == plan::Degrees{1, 1});
}

TEST_CASE("the samples of a step do not depend on what is chosen") {
  for (const char* key : {"tensor", "context"}) {
    const std::string told = user_error_of([&] {
      planned({.parallel = std::string(key) + ": auto, world_size: 2",
               .more = "batch: {micro_batch_size: 2, grad_accum_steps: 1}\n"});
    });
    check_error(std::string("plan.degrees/no_global_") + key, 78, told);
  }
}

TEST_CASE("parts of layers stay on one host unless nothing fits so") {
  Run run{.more = "batch: {global_batch_size: 8}\n", .local_ranks = 2};
  const std::string mode = "mode: ddp, world_size: 8, ";
  const std::int64_t two = bytes_of(run, mode + "tensor: 2"),
                     four = bytes_of(run, mode + "tensor: 4");
  REQUIRE(four < two);
  run.parallel = "mode: ddp, " + both + "8";
  const std::string batch = run.more;
  run.more = batch + budget(two);
  CHECK(planned(run).mesh.tensor <= 2);
  run.parallel = mode + "tensor: auto";
  run.more = batch + budget(four);
  CHECK(planned(run).mesh.tensor == 4);
}

TEST_CASE("a refusal names ranks that share a batch if they fit") {
  const std::string mode = "mode: ddp, world_size: 4";
  // neither shards nor less activations save what the vocabulary takes
  Run run{.model =
              "{type: gpt2, options: {num_layers: 1, num_heads: 4, hidden_size: 512, "
              "max_positions: 64, vocab_size: 50000}}",
          .more =
              "batch: {global_batch_size: 4}\noptimizer: {type: adamw, "
              "update_in_backward: true, max_grad_norm: 0}\n"};
  const std::int64_t two = bytes_of(run, mode + ", tensor: 2");
  run.more += budget(two);
  run.parallel = mode;
  const std::string told = user_error_of([&] { planned(run); });
  CHECK_THAT(told, ContainsSubstring("71: ") && ContainsSubstring("parallel.tensor 2") &&
                       ContainsSubstring("would fit") &&
                       ContainsSubstring("parallel.tensor: auto"));
}

TEST_CASE("a run that fits with no degrees says what is missing") {
  const Run run{.parallel = both + "4",
                .more = "batch: {global_batch_size: 4}\n" + budget(1 << 20)};
  CHECK_THAT(user_error_of([&] { planned(run); }),
             ContainsSubstring("71: ") && ContainsSubstring("too little"));
}

TEST_CASE("advice names written ranks that share a batch though nothing needs it") {
  for (const char* key : {"tensor", "context"}) {
    CAPTURE(key);
    const Run run{.parallel = "mode: ddp, world_size: 8, " + std::string(key) + ": 2",
                  .model = "{type: gpt2, size: 350m}",
                  .more = "batch: {global_batch_size: 64}\nprecision: bf16\n",
                  .gpu = "h100",
                  .length = 1024};
    const facts::Facts facts = facts_of(run);
    const auto plan = planned(run);
    const auto told = plan::needless_levers(
        plan, [&](const recipe::Recipe& r) { return plan::draft_run(r, facts, {.gpu = run.gpu}); });
    INFO(plan::describe(told, plan));
    REQUIRE(told.size() == 1);
    CHECK(told.front().key == "parallel." + std::string(key));
    CHECK(told.front().now == "2");
    CHECK(told.front().better == "1");
    CHECK(told.front().share >= 0.01);
    // what is promised is what the run without it takes
    Run without = run;
    without.parallel = "mode: ddp, world_size: 8";
    without.more += "memory: {activation_checkpoint: none}\n";
    CHECK(planned(without).time->step_s <= 1.02 * (plan.time->step_s - told.front().gain_s));
    CHECK(plan::needless_levers(plan).empty());
  }
}

TEST_CASE("alternatives are other ranks that share a batch, too") {
  const Run run{.parallel = "mode: ddp, world_size: 8",
                .model = "{type: gpt2, size: 350m}",
                .more = "batch: {global_batch_size: 64}\nprecision: bf16\n",
                .gpu = "h100",
                .length = 1024};
  const facts::Facts facts = facts_of(run);
  const auto plan = planned(run);
  const auto all = plan::alternatives(plan, 12, [&](const recipe::Recipe& r) {
    return plan::draft_run(r, facts, {.gpu = run.gpu});
  });
  INFO(plan::describe(all, plan));
  const auto shares = [](const plan::Alternative& a) {
    return a.choice.tensor > 1 || a.choice.context > 1;
  };
  REQUIRE(std::ranges::any_of(all, shares));
  for (const plan::Alternative& a : all) {
    if (!shares(a)) continue;
    CHECK(a.takes.seconds * 1.011 >= all.front().takes.seconds);
    CHECK_THAT(plan::changes_of(a.choice, all.front().choice), ContainsSubstring("parallel."));
  }
}

}  // namespace degrees_test
