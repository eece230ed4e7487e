#include "plan/decisions.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include "support/golden.hpp"
#include <algorithm>

namespace choose_saving_test {

using namespace trainx;

namespace {

const std::string single = "parallel: {mode: single}\n",
                  updates_away = "memory: {optimizer_offload: cpu}\n",
                  asked = "checkpoint: {asynchronous: true}\n";
constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

/// On a machine with one GPU and so much memory; 0: it does not say.
plan::RunPlan plan_on(std::int64_t memory_bytes, const recipe::Recipe& recipe) {
  return planned(recipe, {memory_bytes, "", {h200_gpu()}});
}
plan::RunPlan plan_on(std::int64_t memory_bytes, const std::string& more = single) {
  return plan_on(memory_bytes, gpt2_recipe("precision: bf16\n" + more));
}

/// What is said of it; empty where there was no choice.
std::string said(const plan::RunPlan& plan) {
  std::string text;
  for (const std::string& choice : plan.choices)
    if (choice.starts_with("checkpoint.asynchronous ")) text += choice;
  return text;
}

std::int64_t residents_on_gpu(const plan::RunPlan& plan) {
  std::int64_t bytes = 0;
  for (const auto& b : plan.role().train.front().program.buffers)
    if (b.resident && b.space == program::Space::device) bytes += b.bytes();
  return bytes;
}

}  // namespace

TEST_CASE(
    "checkpoints are written beside training on a GPU whose host is known to hold their copy") {
  const auto roomy = plan_on(64 * gibibyte);
  CHECK(roomy.writes_beside_training());
  check_sentence("plan.choose_saving/roomy", said(roomy), Numbers::any);
  CHECK(roomy.memory.beside_host_bytes == residents_on_gpu(roomy));
  CHECK(roomy.memory.beside_host_bytes > std::int64_t{124'000'000} * 12);

  const std::int64_t least = plan::host_need(roomy.memory) * 10 / 9;
  CHECK(plan_on(least + 10).writes_beside_training());
  const auto tight = plan_on(least - 10);
  CHECK_FALSE(tight.writes_beside_training());
  check_sentence("plan.choose_saving/tight", said(tight), Numbers::any);
  CHECK(tight.memory.beside_host_bytes == 0);

  const auto unknown = plan_on(0);
  CHECK_FALSE(unknown.writes_beside_training());
  check_sentence("plan.choose_saving/unknown", said(unknown));
}

TEST_CASE(
    "without a GPU, or with the optimizer on a disk, training waits for checkpoints, and that is "
    "no choice") {
  const auto cpu = planned(gpt2_recipe("precision: bf16\n" + single), {64 * gibibyte, "", {}});
  CHECK_FALSE(cpu.writes_beside_training());
  CHECK_FALSE(cpu.recipe.checkpoint.asynchronous.is_auto());
  CHECK(said(cpu).empty());
  for (const std::string where : {"disk", "cpu+disk"}) {
    const auto disk =
        plan_on(64 * gibibyte, single + "memory: {optimizer_offload: " + where + "}\n");
    CHECK_FALSE(disk.writes_beside_training());
    CHECK(said(disk).empty());
  }
}

TEST_CASE("what is written about checkpoints stands, and what does not fit then is refused") {
  const auto true_one = plan_on(64 * gibibyte, single + asked),
             false_one = plan_on(64 * gibibyte, single + "checkpoint: {asynchronous: false}\n");
  CHECK(true_one.writes_beside_training());
  CHECK_FALSE(false_one.writes_beside_training());
  CHECK(said(true_one) + said(false_one) == "");
  CHECK(false_one.memory.beside_host_bytes == 0);
  const std::string sentence = user_error_of([] { plan_on(gibibyte, single + asked); });
  CAPTURE(sentence);
  CHECK(sentence.find("973 MiB") != std::string::npos);
  CHECK(sentence.find("checkpoint.asynchronous: false") != std::string::npos);
  check_error("plan.choose_saving/refused", 71, sentence, Numbers::any);
}

TEST_CASE(
    "what is searched for is the same however checkpoints are written, if that is not written") {
  for (const std::string memory :
       {"{fit: true, budget: 1900 MiB}", "{fit: true, budget: 3 GiB}", "{optimizer_offload: cpu}"})
    for (const std::int64_t host : {3 * gibibyte, 64 * gibibyte}) {
      const std::string more = single + "memory: " + memory + "\n";
      const auto open = plan_on(host, more),
                 waits = plan_on(host, more + "checkpoint: {asynchronous: false}\n");
      CAPTURE(memory, host, open.writes_beside_training());
      CHECK(plan::decisions_of(open) == plan::decisions_of(waits));
      CHECK(open.memory.total_bytes() == waits.memory.total_bytes());
      CHECK(open.memory.host_bytes == waits.memory.host_bytes);
      CHECK(open.time->step_s == waits.time->step_s);
    }
}

TEST_CASE("the copy gives way to all else that the host is to hold") {
  const auto roomy = plan_on(64 * gibibyte, single + updates_away),
             tight = plan_on(3 * gibibyte, single + updates_away);
  CHECK(roomy.writes_beside_training());
  CHECK_FALSE(tight.writes_beside_training());
  CHECK(said(tight).starts_with("checkpoint.asynchronous false: "));
  CHECK(plan::host_need(tight.memory) <= 3 * gibibyte);
  CHECK(plan::host_need(roomy.memory) > 3 * gibibyte);  // which a true is refused for
  CHECK(user_error_of([] {
          plan_on(3 * gibibyte, single + updates_away + asked);
        }).starts_with("71: "));

  const auto fitted = [](int mib) {
    return single + "memory: {fit: true, budget: " + std::to_string(mib) + " MiB}\n";
  };
  int mib = 2500;  // the most in which the optimizer has no room
  while (mib > 1500 && plan_on(64 * gibibyte, fitted(mib)).recipe.memory.optimizer_offload.where ==
                           recipe::OptimizerOffload::none)
    mib -= 100;
  const auto much = plan_on(64 * gibibyte, fitted(mib)),
             little = plan_on(3 * gibibyte, fitted(mib));
  REQUIRE(much.recipe.memory.optimizer_offload.where == recipe::OptimizerOffload::cpu);
  CHECK(little.recipe.memory.optimizer_offload.where == recipe::OptimizerOffload::cpu);
  CHECK(much.writes_beside_training());
  CHECK_FALSE(little.writes_beside_training());
}

TEST_CASE("the ranks of shards need room for what each saves, beside the shards") {
  const std::string shards = "parallel: {mode: zero1, world_size: 2}\n";
  const auto plan = plan_on(64 * gibibyte, shards);
  CHECK(plan.writes_beside_training());
  CHECK(plan.memory.beside_host_bytes >
        residents_on_gpu(plan) + std::int64_t{124'000'000} * 12 / 2);
}

TEST_CASE(
    "hosts may choose otherwise for the same run, and what was chosen is read back as it is") {
  const auto roomy = plan_on(64 * gibibyte), tight = plan_on(gibibyte);
  REQUIRE(roomy.writes_beside_training() != tight.writes_beside_training());
  CHECK(plan::fingerprint(roomy) == plan::fingerprint(tight));
  for (const auto& plan : {roomy, tight}) {
    const auto again =
        plan_on(64 * gibibyte, recipe::parse_recipe(recipe::dump(plan.recipe), "resolved").recipe);
    CHECK(again.writes_beside_training() == plan.writes_beside_training());
    CHECK(said(again).empty());
  }
}

}  // namespace choose_saving_test
