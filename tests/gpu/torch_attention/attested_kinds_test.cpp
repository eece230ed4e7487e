// Runs whose attention is LibTorch's: honest ones pass the attestation, replayed and launched one
// by one; one that is another kind's is found out.
#include "gpu/attestation/attested_run.hpp"
#include <cmath>
#include "gpu/device.hpp"

namespace attested_kinds_test {

using namespace trainx;
using namespace trainx::train::test;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A run that asks for one kind and computes another.
plan::RunPlan computing(AttentionKind kind, const plan::RunPlan& asked) {
  return replanned(asked, [&](plan::RunPlan& plan) {
    std::get<architectures::Gpt2Dims>(plan.dims).attention = kind;
  });
}

}  // namespace

TEST_CASE(
    "a run is attested by the kernels of the attention that it asked for, and has auto's losses",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto precision = GENERATE(as<std::string>{}, "bf16", "fp16", "tf32", "fp32");
  const auto kind = GENERATE(as<std::string>{}, "cudnn", "flash", "efficient", "math");
  const auto level = GENERATE(as<std::string>{}, "none", "full");
  const auto execution = GENERATE(as<std::string>{}, "graph", "eager");
  if ((kind == "cudnn" || kind == "flash") && precision.ends_with("32")) return;
  const Outcome out = run(attested_plan(precision, level, true,
                                        {.attention = kind, .execution = execution})),
                usual = run(attested_plan(precision, level));
  INFO(precision << " by " << kind << ", activation_checkpoint " << level << ", " << execution
                 << ": " << out.refusal << "\n"
                 << out.kernels());
  CHECK(out.refusal.empty());
  CHECK(out.warnings.empty());
  REQUIRE(out.captured);
  CHECK(out.captured->captured == (execution == "graph"));
  REQUIRE(out.losses.size() == 3);
  const double tolerance = precision == "fp32" ? 1e-5 : precision == "bf16" ? 1e-2 : 2e-3;
  for (std::size_t s = 0; s < 3; ++s)
    if (!(std::abs(out.losses[s] / usual.losses[s] - 1) < tolerance))
      FAIL("step " << s + 1 << ": " << out.losses[s] << " instead of " << usual.losses[s]);
}

TEST_CASE("attention of another kind than asked for is found out", "[gpu]") {
  TRAINX_NEEDS_GPU();
  struct Case {
    const char* asked;
    AttentionKind ran;
    const char* whose;
  };
  const auto t = GENERATE(values<Case>({{"flash", AttentionKind::efficient, "efficient"},
                                        {"efficient", AttentionKind::flash, "flash"},
                                        {"flash", AttentionKind::automatic, "cuDNN"},
                                        {"math", AttentionKind::flash, "flash"},
                                        {"math", AttentionKind::cudnn, "cuDNN"}}));
  const Outcome out =
      run(computing(t.ran, attested_plan("bf16", "none", true, {.attention = t.asked})));
  INFO(t.asked << " computed by " << name_of(t.ran) << ": " << out.refusal << "\n"
               << out.kernels());
  const std::string key = std::string(" (model.attention: ") + t.asked + ")";
  CHECK(has(out.refusal, std::string("8 launches of ") + t.whose + "'s "));
  CHECK(has(out.refusal, "0 were planned" + key));
  if (t.asked != std::string("math"))
    CHECK(has(out.refusal, "4 were planned" + key));
  else
    CHECK(has(out.refusal, "matrix products"));
}

}  // namespace attested_kinds_test
