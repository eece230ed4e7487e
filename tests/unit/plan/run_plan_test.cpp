#include "plan/run_plan.hpp"
#include "plan/device.hpp"
#include "program/print.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <tuple>
#include <nlohmann/json.hpp>

namespace run_plan_test {

using namespace trainx;

namespace {

facts::Facts some_facts() {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{16} << 30;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return f;
}

recipe::Recipe recipe_of(const std::string& more) {
  return recipe::parse_recipe(
             "model: {type: gpt2, options: {num_layers: 4, num_heads: 4, hidden_size: 64, "
             "max_positions: 64, vocab_size: 1000}}\n"
             "data: {type: stories, sequence_length: 64}\n"
             "batch: {global_batch_size: 32, micro_batch_size: 8}\noptimizer: {type: adamw}\n" +
                 more,
             "test")
      .recipe;
}

std::int64_t bytes_of(const plan::RunPlan& plan, const std::string& category) {
  for (const auto& [name, bytes] : plan.memory.categories)
    if (name == category) return bytes;
  FAIL("no category " << category);
  return 0;
}

}  // namespace

TEST_CASE("durations become steps") {
  CHECK(plan::make_run_plan(recipe_of("run: {name: t, duration: 7 steps}"), some_facts())
            .total_steps == 7);
  // ceil(2 * 1000 / 32)
  CHECK(plan::make_run_plan(recipe_of("run: {name: t, duration: 2 epochs}"), some_facts())
            .total_steps == 63);
  // ceil(1e6 / (32 * 64))
  CHECK(plan::make_run_plan(recipe_of("run: {name: t, duration: 1M tokens}"), some_facts())
            .total_steps == 489);
  const auto timed =
      plan::make_run_plan(recipe_of("run: {name: t, duration: 2 min}"), some_facts());
  CHECK(timed.total_steps == -1);
  CHECK(timed.total_seconds == 120);
}

TEST_CASE(
    "a build without CUDA leaves GPUs alone unless one was asked for, and says how to build") {
  facts::Facts machine = some_facts();
  machine.hardware.gpus.resize(2);
  machine.hardware.gpus.front().name = "NVIDIA H200";
  machine.hardware.has_cuda_parts = false;
  const recipe::Recipe left_open = recipe_of("run: {name: t, duration: 7 steps}");
  CHECK_FALSE(plan::computes_on_gpu(left_open, machine));
  const plan::RunPlan plan = plan::make_run_plan(left_open, machine);
  CHECK_FALSE(plan.on_gpu);
  REQUIRE(plan.choices.size() == 1);
  CHECK(plan.choices.front().find("TRAINX_CUDA=on") != std::string::npos);
  machine.hardware.has_cuda_parts = true;
  CHECK(plan::computes_on_gpu(left_open, machine));
  CHECK(plan::make_run_plan(left_open, machine, {.gpu = "h200"}).on_gpu);
  machine.hardware.has_cuda_parts = false;
  CHECK(plan::make_run_plan(left_open, machine, {.gpu = "h200"}).on_gpu);  // a plan alone
}

TEST_CASE("what a plan has settled is planned to the same programs") {
  const auto settled = [](const std::string& type, const std::string& data) {
    const recipe::Recipe recipe =
        recipe::parse_recipe("model: {type: " + type +
                                 ", options: {num_layers: 2, num_heads: 2, hidden_size: 32, "
                                 "vocab_size: 200}}\ndata: {type: jsonl, train: t.jsonl, "
                                 "sequence_length: 32" +
                                 data + "}\nbatch: {global_batch_size: 4}\n",
                             "test")
            .recipe;
    INFO(type);
    const plan::RunPlan once = plan::make_run_plan(recipe, some_facts()),
                        again = plan::make_run_plan(once.recipe, some_facts());
    CHECK(plan::fingerprint(once) == plan::fingerprint(again));
    CHECK(once.memory.arena_bytes == again.memory.arena_bytes);
  };
  for (const char* type : {"gpt2", "llama", "qwen3", "gemma2"}) settled(type, "");
  for (const char* type : {"bart", "mbart", "t5"}) settled(type, ", target_length: 16");
}

TEST_CASE(
    "activation checkpointing lowers the arena, level by level; split master weights save two "
    "bytes a parameter") {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const char* level : {"none", "selective", "mlp", "full"}) {
    const auto plan = plan::make_run_plan(
        recipe_of(std::string("memory: {activation_checkpoint: ") + level + "}"), some_facts());
    CHECK(plan.memory.arena_bytes < before);
    before = plan.memory.arena_bytes;
  }
  const auto fp32 =
      plan::make_run_plan(recipe_of("precision: {compute: bf16, master: fp32}"), some_facts());
  const auto split =
      plan::make_run_plan(recipe_of("precision: {compute: bf16, master: split}"), some_facts());
  CHECK(bytes_of(fp32, "master weights") == 2 * bytes_of(fp32, "weights"));
  CHECK(bytes_of(split, "master weights") == bytes_of(split, "weights"));
  CHECK(bytes_of(fp32, "optimizer state") == 4 * bytes_of(fp32, "weights"));
}

TEST_CASE(
    "evaluation in another type casts the weights block by block, takes less memory for "
    "activations, and leaves training as it is") {
  for (const auto& [training, evaluation, type] : {std::tuple{"fp32", "bf16", DType::bf16},
                                                   {"fp32", "fp16", DType::f16},
                                                   {"{compute: bf16}", "fp16", DType::f16},
                                                   {"fp16", "bf16", DType::bf16}}) {
    CAPTURE(training, evaluation);
    const std::string precision = std::string("precision: ") + training + "\n";
    const auto plain = plan::make_run_plan(recipe_of(precision), some_facts()),
               other = plan::make_run_plan(
                   recipe_of(precision + "eval: {precision: " + evaluation + "}"), some_facts());
    const auto &train = other.role().train.back(), &evaluate = other.role().evaluate.back();
    CHECK(evaluate.graph.compute == type);
    CHECK(evaluate.graph.stored == train.graph.compute);
    CHECK(program::print(train.program) == program::print(plain.role().train.back().program));
    CHECK(train.placement.base == plain.role().train.back().placement.base);
    const auto casts = std::ranges::count_if(
        evaluate.program.steady,
        [](const program::Instruction& i) { return i.op == program::Op::cast; });
    CHECK(casts >= static_cast<std::ptrdiff_t>(train.graph.groups.size()));
    CHECK(std::ranges::none_of(
        plain.role().evaluate.back().program.steady,
        [](const program::Instruction& i) { return i.op == program::Op::cast; }));
    CHECK(plan::describe(other, false).find("\n  evaluation ") != std::string::npos);
    CHECK(plan::describe(plain, false).find("\n  evaluation ") == std::string::npos);
    CHECK(plan::to_json(other, false)["evaluation"]["compute"] == std::string(name_of(type)));
    const auto again = plan::make_run_plan(
        recipe::parse_recipe(recipe::dump(other.recipe), "resolved").recipe, some_facts());
    CHECK(plan::fingerprint(again) == plan::fingerprint(other));
  }
  const plan::PlanOptions gpu{"h200"};  // a CPU's head keeps logits in both types
  const auto values = [](const plan::RunPlan& p) {
    const auto peak = program::peak_use(p.role().evaluate.back().program);
    return static_cast<double>(peak.of(program::Role::value) + peak.of(program::Role::scratch));
  };
  const auto exact = plan::make_run_plan(recipe_of(""), some_facts(), gpu);
  for (const char* precision : {"bf16", "fp16"}) {
    const auto half = plan::make_run_plan(
        recipe_of(std::string("eval: {precision: ") + precision + "}"), some_facts(), gpu);
    CHECK(half.role().evaluate.back().placement.peak_of(program::Space::device) <
          exact.role().evaluate.back().placement.peak_of(program::Space::device));
    CHECK(values(half) < 0.6 * values(exact));
  }
}

TEST_CASE("the categories add up to what is reserved") {
  const auto plan = plan::make_run_plan(recipe_of(""), some_facts());
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : plan.memory.categories) {
    CAPTURE(name);
    CHECK(bytes >= 0);
    sum += bytes;
  }
  CHECK(sum == plan.memory.total_bytes());
}

TEST_CASE("a budget that is too small is refused with what would fit, and that fits") {
  const auto plan = plan::make_run_plan(recipe_of(""), some_facts());
  const std::int64_t need = plan.memory.total_bytes();
  auto smaller = recipe_of("");
  smaller.batch.micro_batch_size.value = 2;
  const std::int64_t enough = plan::make_run_plan(smaller, some_facts()).memory.total_bytes();
  REQUIRE(enough < need);
  const std::string budget = "memory: {budget: " + std::to_string(enough) + " B}";
  try {
    plan::make_run_plan(recipe_of(budget), some_facts());
    FAIL("was not refused");
  } catch (const UserError& e) {
    CHECK(e.code() == ExitCode::out_of_memory);
    const std::string says = e.what();
    CAPTURE(says);
    CHECK(says.find("batch.micro_batch_size") != std::string::npos);
  }
  CHECK_NOTHROW(plan::make_run_plan(recipe_of("memory: {budget: " + std::to_string(need) + " B}"),
                                    some_facts()));
  CHECK_THROWS_AS(
      plan::make_run_plan(recipe_of("memory: {budget: " + std::to_string(need - 1) + " B}"),
                          some_facts()),
      UserError);
}

TEST_CASE("the resolved recipe plans to itself") {
  for (const char* more :
       {"", "precision: bf16",
        "memory: {activation_checkpoint: full}\nrun: {name: t, duration: 3 epochs}",
        "memory: {activation_checkpoint: [full, full, mlp, none], recompute_segment: 2}"}) {
    const auto first = plan::make_run_plan(recipe_of(more), some_facts());
    const auto second = plan::make_run_plan(
        recipe::parse_recipe(recipe::dump(first.recipe), "resolved").recipe, some_facts());
    CHECK(plan::fingerprint(first) == plan::fingerprint(second));
    CHECK(recipe::dump(first.recipe) == recipe::dump(second.recipe));
  }
}

TEST_CASE("what cannot be is refused before anything runs") {
  CHECK_THROWS_AS(
      plan::make_run_plan(
          recipe_of(
              "schedule: {type: cosine, warmup: 50 steps}\nrun: {name: t, duration: 20 steps}"),
          some_facts()),
      UserError);
  auto missing = some_facts();
  missing.data.train_present = false;
  missing.data.problem = "data/x.bin is missing";
  CHECK(plan::make_run_plan(recipe_of(""), missing).notes.size() == 1);
  try {
    plan::make_run_plan(recipe_of("run: {name: t, duration: 1 epoch}"), missing);
    FAIL("was not refused");
  } catch (const UserError& e) { CHECK(e.code() == ExitCode::input_missing); }
}

}  // namespace run_plan_test
