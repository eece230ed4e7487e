#include "plan/explain/precision_cost.hpp"
#include "plan/explain/pretrained.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace precision_cost_test {

using namespace trainx;

namespace {

facts::Facts facts_of_test() {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{64} << 30;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return f;
}

std::optional<plan::PrecisionCost> cost(const std::string& more, const std::string& gpu) {
  const facts::Facts f = facts_of_test();
  return plan::cost_of_fp32(plan::make_run_plan(gpt2_recipe(more), f, {.gpu = gpu}), f, gpu);
}

plan::PretrainedRemarks remarks(const std::string& text) {
  const auto loaded = recipe::parse_recipe(
      "model: {type: gpt2, init_from: folder}\ndata: {type: stories, sequence_length: 32}\n"
      "batch: {global_batch_size: 8}\n" +
          text,
      "test");
  return plan::pretrained_remarks(loaded.recipe, loaded.origins);
}

bool any_names(const std::vector<std::string>& all, const std::string& key) {
  for (const std::string& each : all)
    if (each.find(key) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("fp32 on a GPU that has bf16 comes with what it costs, which the plan in bf16 confirms") {
  for (const char* gpu : {"h200", "a100"}) {
    const auto told = cost("", gpu);
    REQUIRE(told);
    const auto fp32 = planned(gpt2_recipe(""), {.gpu = gpu}),
               bf16 = planned(gpt2_recipe("precision: bf16\n"), {.gpu = gpu});
    CHECK(told->step_s == fp32.time->step_s);
    CHECK(std::abs(told->bf16_step_s / bf16.time->step_s - 1) < 1e-9);
    CHECK(told->more_bytes == bf16.memory.total_bytes() - fp32.memory.total_bytes());
    CHECK(told->step_s > 2 * told->bf16_step_s);
    const auto j = plan::to_json(told);
    REQUIRE(j.size() == 1);
    CHECK(j[0].at("better") == nlohmann::json{{"precision.compute", "bf16"}});
  }
}

TEST_CASE("no advice on precision where bf16 is asked for, is not there, or costs are not known") {
  CHECK_FALSE(cost("precision: bf16\n", "h200"));
  CHECK_FALSE(cost("precision: fp16\n", "h200"));
  CHECK_FALSE(cost("precision: tf32\n", "h200"));
  CHECK_FALSE(cost("", "t4"));
  CHECK_FALSE(cost("", ""));  // a CPU
  CHECK(plan::to_json(std::optional<plan::PrecisionCost>()).empty());
}

TEST_CASE("trained weights without a learning rate are warned of, without a schedule hinted at") {
  const auto none = remarks("");
  CHECK(any_names(none.warnings, "optimizer.lr"));
  CHECK(none.hints.empty());
  const auto no_lr = remarks("optimizer: {type: adamw}\nschedule: {type: cosine}\n");
  CHECK(any_names(no_lr.warnings, "optimizer.lr"));
  const auto no_schedule = remarks("optimizer: {type: adamw, lr: 2e-5}\n");
  CHECK(no_schedule.warnings.empty());
  CHECK(any_names(no_schedule.hints, "schedule"));
  const auto both = remarks("optimizer: {lr: 2e-5}\nschedule: {warmup: 5 steps}\n");
  CHECK(both.warnings.empty());
  CHECK(both.hints.empty());
  // rates that the recipe says otherwise
  const auto adafactor = remarks("optimizer: {type: adafactor, options: {relative_step: true}}\n");
  CHECK(adafactor.warnings.empty());
  const auto loaded = recipe::parse_recipe(
      "model: {type: gpt2}\ndata: {type: stories, sequence_length: 32}\n"
      "batch: {global_batch_size: 8}\n",
      "test");
  const auto fresh = plan::pretrained_remarks(loaded.recipe, loaded.origins);
  CHECK(fresh.warnings.empty());
  CHECK(fresh.hints.empty());
}

TEST_CASE("8-bit AdamW over trained weights hints at embeddings in 32 bits, unless they are set") {
  const std::string rest = "schedule: {type: cosine}\n", key = "optimizer.options.embeddings_32bit";
  CHECK(any_names(remarks("optimizer: {type: adamw_8bit, lr: 2e-5}\n" + rest).hints, key));
  for (const char* value : {"true", "false"})
    CHECK(remarks("optimizer: {type: adamw_8bit, lr: 2e-5, options: {embeddings_32bit: " +
                  std::string(value) + "}}\n" + rest)
              .hints.empty());
  CHECK(remarks("optimizer: {type: adamw, lr: 2e-5}\n" + rest).hints.empty());
}

}  // namespace precision_cost_test
