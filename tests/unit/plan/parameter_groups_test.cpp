#include "plan/parameter_groups.hpp"
#include "core/error.hpp"
#include "plan/checkpoint_size.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"

namespace parameter_groups_test {

using namespace trainx;
using program::Role;

namespace {

const std::string lower =
    "groups: [{match: \"transformer.w*\", freeze: true}, {match: \"h.0.*\", freeze: true}, "
    "{match: \"*.bias\", lr: 0.02, weight_decay: 0}]";

std::string optimizer(const std::string& type, const std::string& groups = lower) {
  const std::string options = type == "adafactor" ? ", options: {relative_step: false}" : "";
  return "optimizer: {type: " + type + options + ", lr: 0.01" +
         (groups.empty() ? "" : ", " + groups) + "}\n";
}

plan::RunPlan small(const std::string& more, const std::string& gpu = "") {
  const auto recipe = recipe::parse_recipe(
      "model: {type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 64, max_positions: "
      "64, vocab_size: 400}}\ndata: {type: stories, sequence_length: 64}\nbatch: "
      "{global_batch_size: 16, micro_batch_size: 4}\n" +
          more,
      "test");
  return planned(recipe.recipe, {.gpu = gpu});
}

std::int64_t bytes_of(const plan::RunPlan& plan, Role role) {
  std::int64_t bytes = 0;
  for (const auto& b : plan.role().train.back().program.buffers)
    if (b.role == role && b.resident) bytes += b.bytes();
  return bytes;
}

std::int64_t elements_of(const plan::RunPlan& plan, bool trained) {
  std::int64_t n = 0;
  for (const auto& g : plan.role().train.back().graph.groups)
    if (g.training.trained == trained) n += g.elements;
  return n;
}

}  // namespace

TEST_CASE("a learning rate of a group's own becomes a factor; names are as folders have them") {
  const auto plan = small(optimizer("adamw"));
  const auto rules = plan::parameter_rules(plan);
  REQUIRE(rules.size() == 3);
  CHECK(rules[0].pattern == "w*");
  CHECK(rules[0].trained == false);
  CHECK(rules[2].lr_scale == 0.02 / 0.01);
  CHECK(rules[2].weight_decay == 0);
}

TEST_CASE(
    "what is frozen takes neither states nor exact weights, whatever the optimizer keeps and "
    "wherever it is kept") {
  for (const std::string type : {"adamw", "adamw_8bit", "adafactor", "lamb", "sgd"})
    for (const std::string precision : {"fp32", "bf16", "fp16"})
      for (const std::string more :
           {"", "memory: {activation_checkpoint: full}\n", "memory: {activation_checkpoint: mlp}\n",
            "memory: {optimizer_offload: cpu}\n", "memory: {parameter_offload: cpu}\n",
            "parallel: {mode: ddp, world_size: 2}\n", "parallel: {mode: dp, world_size: 2}\n",
            "parallel: {mode: zero1, world_size: 2}\n", "parallel: {mode: zero2, world_size: 2}\n",
            "parallel: {mode: zero3, world_size: 2}\nmemory: {activation_checkpoint: full}\n"}) {
        CAPTURE(type, precision, more);
        const std::string lines = "precision: " + precision + "\n" + more;
        const bool keeps_nothing = type == "sgd" && precision == "fp32";
        if (keeps_nothing && more.find("optimizer_offload") != std::string::npos) continue;
        const auto plan = small(lines + optimizer(type)), all = small(lines + optimizer(type, ""));
        for (const auto& b : plan.role().train.back().program.buffers)
          if (b.role == Role::gradient || program::is_optimizer_state(b.role))
            CHECK(plan.role()
                      .train.back()
                      .graph.groups.at(static_cast<std::size_t>(b.index))
                      .training.trained);
        const double share = static_cast<double>(elements_of(plan, true)) /
                             static_cast<double>(elements_of(all, true));
        CHECK(share < 0.7);
        CHECK(static_cast<double>(bytes_of(plan, Role::master)) <=
              1.05 * share * static_cast<double>(bytes_of(all, Role::master)));
        CHECK(plan.memory.total_bytes() <= all.memory.total_bytes());
        CHECK(plan::checkpoint_size(plan).each_bytes <= plan::checkpoint_size(all).each_bytes);
      }
}

TEST_CASE("an average of the weights takes four bytes of what is trained, and is evaluated") {
  const std::string ema = lower + ", ema_decay: 0.99";
  for (const std::string precision : {"fp32", "bf16"})
    for (const std::string weights : {"current", "average"}) {
      CAPTURE(precision, weights);
      const std::string lines = "precision: " + precision + "\neval: {weights: " + weights + "}\n";
      const auto plan = small(lines + optimizer("adamw", ema)),
                 without = small("precision: " + precision + "\n" + optimizer("adamw"));
      CHECK(bytes_of(plan, Role::state) - bytes_of(without, Role::state) ==
            4 * elements_of(plan, true));
      std::int64_t read = 0;
      for (const auto& i : plan.role().evaluate.back().program.steady)
        for (const auto& u : i.uses)
          read += plan.role()
                      .evaluate.back()
                      .program.buffers[static_cast<std::size_t>(u.buffer)]
                      .role == Role::state;
      CHECK((read > 0) == (weights == "average"));
    }
}

}  // namespace parameter_groups_test
