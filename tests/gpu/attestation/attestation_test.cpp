// Is what ran what was asked for? Honest runs pass; of each sabotage, really done to a run on the
// GPU, the attestation says what is wrong.
#include "attested_run.hpp"
#include "math_attention.hpp"
#include "never_captured.hpp"
#include <cmath>
#include "gpu/device.hpp"

namespace attestation_test {

using namespace trainx;
using namespace trainx::train::test;
using program::Master;

namespace {

const std::string split = "bf16", fp32_master = "{compute: bf16, master: fp32}";

/// Of the first `layers` layers.
std::function<void(train::TrainingParts&)> attention_by_math(int layers) {
  return [layers](train::TrainingParts& parts) {
    const program::ModelGraph& graph = parts.plan.role().train.front().graph;
    const std::int64_t batch_size = graph.batch.front().dims.front();
    for (std::size_t b = 0; b < graph.blocks.size(); ++b)
      if (const auto& block = graph.blocks[b];
          block.layer < layers && block.name.ends_with(".attention"))
        parts.blocks.front()[b] = std::make_unique<MathAttention>(graph.composition, b, batch_size);
  };
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an honest run is what its recipe claims", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto precision = GENERATE(as<std::string>{}, split, fp32_master, "fp16", "tf32", "fp32");
  const auto level = GENERATE(as<std::string>{}, "none", "selective", "mlp", "full");
  const bool deterministic = GENERATE(false, true);
  const Outcome out = run(attested_plan(precision, level, deterministic));
  INFO(precision << ", activation_checkpoint " << level << ", deterministic " << deterministic
                 << "\n"
                 << out.kernels());
  CHECK(out.refusal.empty());
  CHECK(out.warnings.empty());
  REQUIRE(out.captured);
  CHECK(out.captured->captured);
  CHECK(out.losses.size() == 3);
}

TEST_CASE(
    "steps that are launched one by one because that was asked for are what their recipe claims",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  plan::RunPlan plan = attested_plan(split);
  plan.recipe.run.execution.value = recipe::Execution::eager;
  const Outcome out = run(plan), replayed = run(attested_plan(split));
  CHECK(out.refusal.empty());
  REQUIRE(out.captured);
  CHECK(!out.captured->captured);
  CHECK(out.losses == replayed.losses);
}

TEST_CASE("attention by math instead of the fused kernel is found out, be it in one layer",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto precision = GENERATE(as<std::string>{}, split, "fp32");
  const int layers = GENERATE(1, 2);
  const Outcome out = run(attested_plan(precision), attention_by_math(layers));
  INFO(precision << ", " << layers << " layers: " << out.refusal << "\n" << out.kernels());
  const std::string left = layers == 1 ? "2" : "0";  // of 2 layers in 2 micro-steps
  CHECK(has(out.refusal, left + " launches of "));
  CHECK(has(out.refusal, "fused attention "));
  CHECK(has(out.refusal, "fused attention's backward"));
  CHECK(has(out.refusal, "4 were planned"));
}

TEST_CASE("steps that are launched one kernel at a time are found out", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Outcome out = run(attested_plan(split), [](train::TrainingParts& parts) {
    parts.device = std::make_unique<NeverCaptured>(std::move(parts.device));
  });
  CHECK(has(out.refusal, "steps are not replayed as a CUDA graph"));
  CHECK(!out.captured);
}

TEST_CASE("exact weights that are dropped, or kept otherwise, are found out", "[gpu]") {
  TRAINX_NEEDS_GPU();
  struct Case {
    std::string asked;
    Master ran;
    const char* missing;
  };
  const auto t = GENERATE(values<Case>({{split, Master::absent, "SplitWeights"},
                                        {fp32_master, Master::absent, "MasterWeights"},
                                        {split, Master::fp32, "SplitWeights"},
                                        {fp32_master, Master::split, "MasterWeights"}}));
  const Outcome out = run(replanned(attested_plan(t.asked), [&](plan::RunPlan& plan) {
    plan.master = plan.update.master = t.ran;
  }));
  INFO(t.asked << " planned as " << static_cast<int>(t.ran) << ": " << out.refusal << "\n"
               << out.kernels());
  CHECK(has(out.refusal, std::string("no adamw_kernel over ") + t.missing));
}

TEST_CASE("activation checkpointing that is ignored, or done otherwise, is found out", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto precision = GENERATE(as<std::string>{}, split, "fp32");
  const auto asked = GENERATE(as<std::string>{}, "none", "selective", "mlp", "full");
  const auto ran = GENERATE(RecomputeLevel::none, RecomputeLevel::selective, RecomputeLevel::mlp,
                            RecomputeLevel::full);
  const plan::RunPlan plan = attested_plan(precision, asked);
  const RecomputeLevel wanted = plan.recipe.memory.activation_checkpoint.value->front();
  if (wanted == ran) return;
  const Outcome out = run(replanned(
      plan, [&](plan::RunPlan& p) { p.recipe.memory.activation_checkpoint.value = {ran}; }));
  INFO(precision << ", " << asked << " planned as " << static_cast<int>(ran) << ": " << out.refusal
                 << "\n"
                 << out.kernels());
  CHECK(has(out.refusal, "(memory.activation_checkpoint: " + asked + ")"));
  const bool attention = wanted == RecomputeLevel::full || ran == RecomputeLevel::full,
             norms = wanted == RecomputeLevel::none || ran == RecomputeLevel::none;
  // recomputed by full alone
  CHECK(has(out.refusal, "launches of fused attention in a step") == attention);
  CHECK(has(out.refusal, "launches of a norm's forward in a step") == norms);  // by all others
}

TEST_CASE(
    "updates in backward and activations on the host are seen in the captured step, and change no "
    "loss",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto precision = GENERATE(as<std::string>{}, split, "fp32");
  const auto level = GENERATE(as<std::string>{}, "none", "selective", "full");
  const auto levers = GENERATE(Levers{true, false}, Levers{false, true}, Levers{true, true});
  plan::RunPlan asked = attested_plan(precision, level, true, levers);
  const plan::RunPlan plain = replanned(asked, [](plan::RunPlan& p) {
    p.recipe.optimizer.update_in_backward = false,
    p.recipe.memory.activation_offload = recipe::ActivationOffload::none;
  });
  const Outcome out = run(asked), without = run(plain, {}, Degraded::allowed);
  INFO(precision << ", " << level << ", updates in backward " << levers.update_in_backward
                 << ", offload " << levers.activation_offload << "\n"
                 << out.refusal << "\n"
                 << out.kernels());
  CHECK(out.refusal.empty());
  CHECK(out.warnings.empty());
  REQUIRE(out.captured);
  CHECK(out.captured->captured);
  const std::int64_t copied = plan::offloaded_bytes(asked.role().train.front().program);
  CHECK(out.captured->bytes_to_host == copied);
  CHECK(out.captured->bytes_from_host == copied);
  CHECK((copied > 0) == levers.activation_offload);
  REQUIRE(out.losses.size() == 3);
  CHECK(out.losses == without.losses);
  asked.recipe.run.execution.value = recipe::Execution::eager;
  const Outcome eager = run(asked);
  CHECK(eager.refusal.empty());
  CHECK(eager.losses == out.losses);
}

TEST_CASE("updates that stay at the end and activations that stay on the device are found out",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const plan::RunPlan asked = attested_plan(split, "none", true, {true, true});
  const Outcome late = run(
      replanned(asked, [](plan::RunPlan& p) { p.recipe.optimizer.update_in_backward = false; }));
  INFO(late.refusal << "\n" << late.kernels());
  CHECK(has(late.refusal, "1 launches of the optimizer in a step"));
  CHECK(has(late.refusal, "(optimizer.update_in_backward: true)"));
  const Outcome kept = run(replanned(asked, [](plan::RunPlan& p) {
    p.recipe.memory.activation_offload = recipe::ActivationOffload::none;
  }));
  INFO(kept.refusal);
  CHECK(has(kept.refusal, "0 bytes are copied to the host and back in a step"));
}

TEST_CASE(
    "an optimizer on the host is seen in the captured step, and losses are those of one on the GPU",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto precision = GENERATE(as<std::string>{}, split, "fp32", "fp16");
  const bool in_backward = GENERATE(false, true);
  if (in_backward && precision == "fp16") return;
  Levers levers{in_backward, in_backward};
  levers.optimizer_offload = true;
  plan::RunPlan asked = attested_plan(precision, "none", true, levers);
  const Outcome out = run(asked),
                without = run(replanned(asked,
                                        [](plan::RunPlan&p) {
                                          p.recipe.memory.optimizer_offload.where =
                                              recipe::OptimizerOffload::none;
                                        }),
                              {}, Degraded::allowed);
  INFO(precision << ", updates in backward " << in_backward << "\n"
                 << out.refusal << "\n"
                 << out.kernels());
  CHECK(out.refusal.empty());
  CHECK(out.warnings.empty());
  REQUIRE(out.captured);
  CHECK(out.captured->captured);
  CHECK(out.captured->host_updates > 3);
  REQUIRE(out.losses.size() == 3);
  REQUIRE(without.losses.size() == 3);
  for (std::size_t s = 0; s < 3; ++s)
    if (!(std::abs(out.losses[s] / without.losses[s] - 1) < 1e-6))
      FAIL("step " << s + 1 << ": " << out.losses[s] << " instead of " << without.losses[s]);
  asked.recipe.run.execution.value = recipe::Execution::eager;
  const Outcome eager = run(asked);
  CHECK(eager.refusal.empty());
  CHECK(eager.losses == out.losses);
}

TEST_CASE(
    "gradients that leave as bf16 are seen in the captured step, half the bytes, and losses are "
    "near those of exact ones",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto precision = GENERATE(as<std::string>{}, split, "fp32", "fp16");
  const bool in_backward = GENERATE(false, true);
  if (in_backward && precision == "fp16") return;
  Levers levers{in_backward, false};
  levers.optimizer_offload = true;
  const Outcome exact = run(attested_plan(precision, "none", true, levers));
  levers.rounded_gradients = true;
  plan::RunPlan asked = attested_plan(precision, "none", true, levers);
  const Outcome out = run(asked);
  INFO(precision << ", updates in backward " << in_backward << "\n"
                 << out.refusal << "\n"
                 << out.kernels());
  CHECK(out.refusal.empty());
  CHECK(out.warnings.empty());
  REQUIRE(out.captured);
  REQUIRE(exact.captured);
  const std::int64_t gradients =
      plan::optimizer_copies(asked.role().train.front().program).gradients_out;
  // as many left as stayed away
  CHECK(exact.captured->bytes_to_host - out.captured->bytes_to_host == gradients);
  REQUIRE(out.losses.size() == 3);
  CHECK(out.losses.front() == exact.losses.front());
  for (std::size_t s = 1; s < 3; ++s)
    if (!(std::abs(out.losses[s] / exact.losses[s] - 1) < 1e-3))
      FAIL("step " << s + 1 << ": " << out.losses[s] << " instead of " << exact.losses[s]);
  CHECK(out.losses != exact.losses);
  asked.recipe.run.execution.value = recipe::Execution::eager;
  const Outcome eager = run(asked);
  CHECK(eager.refusal.empty());
  CHECK(eager.losses == out.losses);
}

TEST_CASE(
    "gradients that leave as they are where bf16 was asked for, or the other way round, are found "
    "out",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  Levers levers;
  levers.optimizer_offload = true;
  const Outcome rounded =
      run(replanned(attested_plan(split, "none", true, levers), [](plan::RunPlan& p) {
        p.recipe.memory.optimizer_offload.gradients = recipe::OffloadedGradients::bf16;
      }));
  INFO(rounded.refusal);
  CHECK(has(rounded.refusal, "bytes are copied to the host in a step, at least "));
  levers.rounded_gradients = true;
  const Outcome exact =
      run(replanned(attested_plan(split, "none", true, levers), [](plan::RunPlan& p) {
        p.recipe.memory.optimizer_offload.gradients = recipe::OffloadedGradients::fp32;
      }));
  INFO(exact.refusal);
  CHECK(has(exact.refusal, "0 gradients are rounded to bf16 in a step, at least "));
}

TEST_CASE("an optimizer that stays on the GPU, or goes to the host unasked, is found out",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  Levers levers;
  levers.optimizer_offload = true;
  const Outcome stayed =
      run(replanned(attested_plan(split, "none", true, levers), [](plan::RunPlan& p) {
        p.recipe.memory.optimizer_offload.where = recipe::OptimizerOffload::none;
      }));
  INFO(stayed.refusal);
  CHECK(has(
      stayed.refusal,
      "launches of the optimizer on the GPU in a step, 0 were planned (memory.optimizer_offload)"));
  CHECK(has(stayed.refusal, "0 updates on the host in a step"));
  const Outcome went = run(replanned(attested_plan(split), [](plan::RunPlan& p) {
    p.recipe.memory.optimizer_offload.where = recipe::OptimizerOffload::cpu;
  }));
  INFO(went.refusal);
  CHECK(has(went.refusal, "updates on the host in a step, none were planned"));
}

TEST_CASE(
    "what is found out is a warning where that was allowed, and the run goes on with the numbers "
    "of an honest one",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const plan::RunPlan plan = attested_plan("fp32");
  const Outcome honest = run(plan), sabotaged = run(plan, attention_by_math(2), Degraded::allowed);
  CHECK(sabotaged.refusal.empty());
  CHECK(has(sabotaged.warnings, "0 launches of fused attention in a step, 4 were planned"));
  REQUIRE(honest.losses.size() == 3);
  REQUIRE(sabotaged.losses.size() == 3);
  for (std::size_t s = 0; s < 3; ++s)
    if (!(std::abs(sabotaged.losses[s] / honest.losses[s] - 1) < 1e-5))
      FAIL("step " << s + 1 << ": " << sabotaged.losses[s] << " instead of " << honest.losses[s]);
}

}  // namespace attestation_test
