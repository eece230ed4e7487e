// What another run.duration does to the learning rate of a run that resumes.
#include "small_run.hpp"
#include "core/error.hpp"
#include "train/learning_rates.hpp"
#include "support/catch.hpp"

namespace learning_rates_test {

namespace {

using namespace trainx;

plan::RunPlan plan_of(int steps, const std::string& schedule) {
  const std::string text =
      "run: {name: small, duration: " + std::to_string(steps) +
      " steps}\nmodel: {type: gpt2, options: {num_layers: 1, num_heads: 2, hidden_size: 16, "
      "max_positions: 12, vocab_size: 500}}\ndata: {type: stories, sequence_length: 12, samples: "
      "64, eval_samples: 7}\n"
      "batch: {global_batch_size: 4, micro_batch_size: 4}\noptimizer: {type: adamw, lr: "
      "1}\nschedule: " +
      schedule + "\n";
  return plan::make_run_plan(recipe::parse_recipe(text, "small").recipe, train::small_facts());
}

/// A run that trained its 60 steps.
train::TrainState after_60(const plan::RunPlan& plan) {
  train::TrainState state;
  CHECK_FALSE(train::resume_schedule(plan, state));
  state.step = state.applied_steps = 60;
  state.lr = plan.lr_table.back();
  return state;
}

}  // namespace

TEST_CASE(
    "extend goes on as if the run had always had the longer duration, and says what that does") {
  train::TrainState state = after_60(plan_of(60, "{type: linear}"));
  const auto longer = plan_of(80, "{type: linear}");
  const auto change = train::resume_schedule(longer, state);
  REQUIRE(change);
  CHECK(change->step == 60);
  CHECK(std::abs(change->last - 1.0 / 60) < 1e-12);
  CHECK(std::abs(change->next - 0.25) < 1e-12);
  CHECK(train::learning_rates(longer, state) == longer.lr_table);
  CHECK_FALSE(train::resume_schedule(longer, state));  // the same command again
}

TEST_CASE(
    "restart trains a whole schedule from the resumed step to the new end, also when it resumes "
    "once more") {
  const std::string schedule = "{type: linear, warmup: 4 steps, resume: restart}";
  train::TrainState state = after_60(plan_of(60, schedule));
  state.applied_steps = 58;  // two steps were skipped
  const auto longer = plan_of(80, schedule);
  const auto change = train::resume_schedule(longer, state);
  REQUIRE(change);
  CHECK(std::abs(change->next - 0.25) < 1e-12);
  const auto table = train::learning_rates(longer, state),
             own = plan_of(20, "{type: linear, warmup: 4 steps}").lr_table;
  REQUIRE(table.size() == longer.lr_table.size());
  for (std::size_t s = 0; s < own.size(); ++s) CHECK(table[58 + s] == own[s]);
  state.step = 70, state.applied_steps = 68;
  CHECK_FALSE(train::resume_schedule(longer, state));
  CHECK(train::learning_rates(longer, state) == table);
}

TEST_CASE("what a longer duration does not change is not told") {
  for (const char* schedule : {"{type: constant}", "{type: inverse_sqrt, warmup: 10 steps}"}) {
    train::TrainState state = after_60(plan_of(60, schedule));
    CHECK_FALSE(train::resume_schedule(plan_of(80, schedule), state));
  }
  train::TrainState old = after_60(plan_of(60, "{type: linear}"));
  old.schedule.until = -1;  // of a checkpoint that does not say
  CHECK_FALSE(train::resume_schedule(plan_of(80, "{type: linear}"), old));
}

TEST_CASE("a restart without room for its warm-up is refused") {
  const std::string schedule = "{type: cosine, warmup: 30 steps, resume: restart}";
  train::TrainState state = after_60(plan_of(60, schedule));
  CHECK_THROWS_AS(train::resume_schedule(plan_of(80, schedule), state), UserError);
}

}  // namespace learning_rates_test
