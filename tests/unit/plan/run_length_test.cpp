#include "plan/explain/run_length.hpp"
#include "plan/explain/gpu_table.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace run_length_test {

using namespace trainx;

TEST_CASE("a run takes its steps, on all ranks, and costs its GPU hours") {
  const auto plan = planned(
      gpt2_recipe("run: {duration: 7200 steps}\nparallel: {world_size: 2, mode: ddp}\n"), {});
  const plan::RunLength length = plan::run_length(plan);
  CHECK(length.steps == 7200);
  CHECK(length.tokens == 7200.0 * 8 * 256);
  CHECK_FALSE(length.counts_padding);
  CHECK(std::abs(length.seconds / (7200 * plan.time->step_s) - 1) < 1e-12);
  CHECK(std::abs(length.gpu_hours / (4 * plan.time->step_s) - 1) < 1e-12);
  const auto j = plan::to_json(length, 2.5);
  CHECK(j.at("cost_eur").get<double>() == 2.5 * length.gpu_hours);
  CHECK_FALSE(plan::to_json(length, 0).contains("cost_eur"));
  CHECK(plan::describe(length, 2.5).find(" EUR") != std::string::npos);
  CHECK(plan::describe(length, 0).find(" EUR") == std::string::npos);
}

TEST_CASE("a duration in time has as many steps as fit") {
  const auto plan = planned(gpt2_recipe("run: {duration: 2 h}\n"), {});
  const plan::RunLength length = plan::run_length(plan);
  CHECK(length.seconds == 7200);
  CHECK(length.gpu_hours == 2);
  CHECK(length.steps == std::ceil(7200 / plan.time->step_s));
}

TEST_CASE("on a CPU no time is predicted, and no cost") {
  const plan::RunLength length =
      plan::run_length(planned(gpt2_recipe("run: {duration: 10 steps}\n"), {.gpu = ""}));
  CHECK(length.steps == 10);
  CHECK(length.seconds == 0);
  CHECK(length.gpu_hours == 0);
  const auto j = plan::to_json(length, 2.5);
  CHECK_FALSE(j.contains("seconds"));
  CHECK_FALSE(j.contains("cost_eur"));
}

TEST_CASE("samples that may be shorter than their rows count as at most so many tokens") {
  const auto recipe = recipe::parse_recipe(
                          "model: {type: bert, size: base, options: {task: classification, "
                          "num_labels: 2}}\ndata: {type: jsonl, train: none, sequence_length: "
                          "128}\nbatch: {global_batch_size: 8}\n",
                          "test")
                          .recipe;
  const auto plan = planned(recipe, {});
  CHECK(plan::run_length(plan).counts_padding);
  CHECK(plan::tokens_words(plan, 41000) == "at most 41.0k");
  CHECK(plan::tokens_words(planned(gpt2_recipe(""), {}), 41000) == "41.0k");
}

TEST_CASE("rows of GPUs: the fastest first, refused ones last, joules where watts were measured") {
  std::vector<plan::GpuRow> rows;
  for (const char* gpu : {"rtx4090", "h100", "h200"})
    rows.push_back(plan::gpu_row(gpu, planned(gpt2_recipe("precision: bf16\n"), {.gpu = gpu})));
  plan::GpuRow refused;
  refused.gpu = "small";
  refused.refusal = "a; b";
  rows.insert(rows.begin(), refused);
  plan::sort_rows(rows);
  CHECK(rows.back().gpu == "small");
  for (std::size_t k = 0; k + 2 < rows.size(); ++k)
    CHECK(rows[k].tokens_per_s >= rows[k + 1].tokens_per_s);
  for (const plan::GpuRow& row : rows)
    CHECK((row.tokens_per_joule > 0) == (row.gpu == "h100" || row.gpu == "h200"));
  const auto fp32 = plan::gpu_row("h200", planned(gpt2_recipe("precision: fp32\n"), {}));
  CHECK(fp32.tokens_per_joule == 0);  // nobody measured its watts
  const auto j = plan::to_json(rows, 0);
  CHECK(j.back().at("refusal") == "a; b");
  CHECK(j.front().at("fits") == true);
  const std::string text = plan::describe(rows, 0);
  CHECK(text.find("no: a\n") != std::string::npos);
  CHECK(text.find("EUR") == std::string::npos);
  CHECK(plan::describe(rows, 1).find("EUR") != std::string::npos);
}

}  // namespace run_length_test
