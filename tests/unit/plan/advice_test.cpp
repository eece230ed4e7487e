#include "plan/explain/advice.hpp"
#include "plan/step_cost.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <cmath>
#include <cstdio>

namespace advice_test {

using namespace trainx;

namespace {

facts::Facts some_facts() {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.data = {true, true, 100000, 100, 0, {}, ""};
  f.data.gives_targets = true;
  return f;
}

using Settings = std::vector<std::string>;

plan::RunPlan planned(const Settings& settings, const std::string& type = "gpt2",
                      const std::string& more = "") {
  recipe::LoadOptions options;
  options.overrides = settings;
  const auto loaded =
      recipe::parse_recipe("model: {type: " + type +
                               "}\ndata: {type: tokens, train: x.bin, sequence_length: "
                               "1024}\nbatch: {global_batch_size: 64, micro_batch_size: 64}\n"
                               "precision: bf16\noptimizer: {type: adamw}\n" +
                               more,
                           "test", options);
  return plan::make_run_plan(loaded.recipe, some_facts(), {"h200"});
}

Settings batch(std::int64_t global, std::int64_t micro) {
  return {"batch.global_batch_size=" + std::to_string(global),
          "batch.micro_batch_size=" + std::to_string(micro)};
}

double seconds_per_token(const plan::RunPlan& p) {
  return p.time->step_s / static_cast<double>(p.tokens_per_step);
}

const plan::Advice* advice_on(const std::vector<plan::Advice>& all, const std::string& key) {
  for (const auto& a : all)
    for (const auto& s : a.settings)
      if (s.key == key) return &a;
  return nullptr;
}

/// Following any of it makes the plan that is then made faster, by what was said.
void check_gains(const Settings& settings) {
  const auto before = planned(settings);
  for (const auto& a : plan::advise(before)) {
    Settings followed = settings;
    for (const auto& s : a.settings) followed.push_back(s.key + "=" + std::to_string(s.better));
    const auto after = planned(followed);
    std::printf("  %s %lld -> %lld: %.1f %%, %s\n", a.settings.front().key.c_str(),
                static_cast<long long>(a.settings.front().now),
                static_cast<long long>(a.settings.front().better), 100 * a.share, a.reason.c_str());
    const double gain_s = (seconds_per_token(before) - seconds_per_token(after)) *
                          static_cast<double>(before.tokens_per_step);
    CAPTURE(a.settings.front().key, a.settings.front().better);
    CHECK(a.share >= plan::least_gain);
    // less is claimed: what a larger batch saves anyway does not count
    if (a.changes_training)
      CHECK(gain_s >= a.gain_s * 0.99);
    else
      CHECK(std::abs(gain_s - a.gain_s) < 0.01 * a.gain_s + 1e-5);
    if (!a.changes_training)
      CHECK(after.memory.total_bytes() - before.memory.total_bytes() == a.more_bytes);
    CHECK(after.memory.total_bytes() <= before.memory.budget_bytes);
  }
}

}  // namespace

TEST_CASE("there is nothing to say of sizes that are good") {
  CHECK(plan::advise(planned({})).empty());
  CHECK(plan::describe(plan::advise(planned({})), planned({})).empty());
  for (const char* size : {"350m", "774m"}) {
    CAPTURE(size);
    CHECK(plan::advise(planned({std::string("model.size=") + size, "batch.global_batch_size=16",
                                "batch.micro_batch_size=16"}))
              .empty());
  }
}

TEST_CASE(
    "a micro-batch that leaves multiprocessors idle, or is small, is told, with the best cut of "
    "the same global batch") {
  const auto advice = plan::advise(planned(batch(72, 1)));
  const auto* a = advice_on(advice, "batch.micro_batch_size");
  REQUIRE(a);
  CHECK(a->settings[0].better > 1);
  CHECK(a->settings[0].better * a->settings[1].better == 72);
  CHECK_FALSE(a->changes_training);
  CHECK(a->more_bytes > 0);
  check_gains(batch(72, 1));
  check_gains(batch(72, 9));
  check_gains(batch(24, 3));
}

TEST_CASE(
    "where no cut of the global batch helps, one that fills the last wave of tiles is told, as "
    "another training") {
  const auto settings = batch(7, 7);
  const auto advice = plan::advise(planned(settings));
  const auto* a = advice_on(advice, "batch.global_batch_size");
  REQUIRE(a);
  CHECK(a->changes_training);
  CHECK(a->settings[0].better == 8);
  check_sentence("plan.advice/waves", a->reason, Numbers::any);
  CHECK(plan::describe(advice, planned(settings)).find("batch.micro_batch_size 7 -> 8") !=
        std::string::npos);
  check_gains(settings);
  check_gains({"model.size=774m", "batch.global_batch_size=5", "batch.micro_batch_size=5"});
  CHECK(plan::advise(planned(batch(8, 8))).empty());
}

TEST_CASE("no micro-batch is advised that does not fit the budget") {
  const auto settings = batch(64, 2);
  const auto roomy = plan::advise(planned(settings));
  REQUIRE(advice_on(roomy, "batch.micro_batch_size"));
  const std::int64_t now = planned(settings).memory.total_bytes();
  Settings tight = settings;
  tight.push_back("memory.budget=" + std::to_string(now) + " B");
  for (const auto& a : plan::advise(planned(tight))) CHECK(a.more_bytes <= 0);
}

TEST_CASE("heads that the fast attention does not take are the largest loss, and are told first") {
  // heads of 12
  const Settings settings{"model.options.num_layers=12", "model.options.hidden_size=768",
                          "model.options.num_heads=64"};
  const auto advice = plan::advise(planned(settings));
  REQUIRE_FALSE(advice.empty());
  CHECK(advice.front().settings.front().key == "model.options.num_heads");
  CHECK(advice.front().reason.find(" 12 ") != std::string::npos);
  check_sentence("plan.advice/heads", advice.front().reason, Numbers::any);
  CHECK(advice.front().changes_training);
  check_gains(settings);
  // of 80, computed as 128
  const Settings wide{"model.options.num_layers=12", "model.options.hidden_size=1280",
                      "model.options.num_heads=16"};
  const auto* heads = advice_on(plan::advise(planned(wide)), "model.options.num_heads");
  CHECK(heads);
  check_gains(wide);
}

TEST_CASE("widths off a multiple of 8 are told with the next ones") {
  const Settings settings{"model.options.num_layers=12", "model.options.hidden_size=1020",
                          "model.options.num_heads=12"};
  const auto cost = plan::step_cost(planned(settings), plan::shape_of(planned(settings)));
  CHECK(cost.unaligned_lost_s > 0.1 * cost.seconds);
  const auto advice = plan::advise(planned(settings));
  const auto* a = advice_on(advice, "model.options.hidden_size");
  REQUIRE(a);
  CHECK(a->settings[0].better == 1024);
  check_gains(settings);
  const Settings inner{"model.options.intermediate_size=3001"};
  const auto of_inner = plan::advise(planned(inner));
  REQUIRE(advice_on(of_inner, "model.options.intermediate_size"));
  check_gains(inner);
}

TEST_CASE("losses are parts of the step, and what is lost is lost where it is said") {
  const auto good = planned({});
  const auto cost = plan::step_cost(good, plan::shape_of(good));
  CHECK(std::abs(cost.seconds / good.time->step_s - 1) < 1e-3);
  CHECK(cost.lost_s() < 0.03 * cost.seconds);
  CHECK(cost.unaligned_lost_s == 0);
  CHECK(cost.heads_lost_s == 0);
  const auto bert = planned({"data.sequence_length=512"}, "bert");
  CHECK(plan::step_cost(bert, plan::shape_of(bert)).seconds > 0);
}

TEST_CASE("on a CPU, and where rates are not known, there is no advice") {
  recipe::LoadOptions options;
  const auto loaded = recipe::parse_recipe(
      "model: {type: gpt2, options: {num_layers: 1, num_heads: 3, hidden_size: 51}}\ndata: {type: "
      "stories}\nbatch: {global_batch_size: 9, micro_batch_size: 3}\noptimizer: {type: adamw}\n",
      "test", options);
  auto facts = some_facts();
  facts.hardware.memory_bytes = std::int64_t{16} << 30;
  CHECK(plan::advise(plan::make_run_plan(loaded.recipe, facts)).empty());
}

}  // namespace advice_test
