// When weights are cast to fp8: of one rank, of several, and where they do not stay.
#include "plan/weight_casts.hpp"
#include "plan/memory_plan.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include "support/user_error.hpp"
#include <algorithm>
#include <string>

namespace weight_casts_test {

using namespace trainx;
namespace {

plan::RunPlan adapted(const std::string& more, const std::string& gpu = "h200",
                      const std::string& scaling = "delayed") {
  recipe::Recipe recipe = gpt2_recipe(
      "precision: {compute: bf16, products: fp8, small_products: fp8, scaling: " + scaling + "}\n" +
      more);
  recipe.model.adapter.type = options::AdapterType::lora;
  recipe.model.adapter.rank = 8;
  return planned(recipe, {.gpu = gpu});
}

/// Instructions of a list that write copies of weights in fp8.
std::int64_t casts_in(const program::StepProgram& p,
                      const std::vector<program::Instruction>& list) {
  return std::ranges::count_if(list, [&](const program::Instruction& i) {
    return std::ranges::any_of(i.uses, [&](const program::Use& u) {
      const program::Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
      return program::writes(u.how) && b.name.find("fp8_weight") != std::string::npos;
    });
  });
}

std::int64_t bytes_in_fp8(const plan::RunPlan& run) {
  for (const auto& [name, bytes] : run.memory.categories)
    if (name == plan::cast_weights_category) return bytes;
  return 0;
}

}  // namespace

TEST_CASE("one rank and ranks of ddp cast frozen weights once a run") {
  for (const std::string scaling : {"current", "delayed", "blocks"})
    for (const std::string ranks : {"", "parallel: {mode: ddp, world_size: 2}\n"}) {
      CAPTURE(scaling, ranks);
      const plan::RunPlan run = adapted(ranks, "h200", scaling);
      CHECK(plan::weight_casts_of(run) == operations::Fp8WeightCasts::once_a_run);
      for (const auto* programs : {&run.role().train, &run.role().evaluate}) {
        const program::StepProgram& p = programs->back().program;
        CHECK(casts_in(p, p.once) == 2 * 12);  // blocks
        CHECK(casts_in(p, p.steady) == 0);
      }
      // values and transposed copy of 12 d^2 elements a layer, but for the first c_attn, whose
      // input has no gradient: 3 d^2; scales beside them
      const double elements = (2 * 12 * 12 - 3) * 768.0 * 768;
      CHECK(static_cast<double>(bytes_in_fp8(run)) / elements > 1);
      CHECK(static_cast<double>(bytes_in_fp8(run)) / elements < 1.001);
    }
}

TEST_CASE("weights that do not stay are cast in steps") {
  using operations::Fp8WeightCasts;
  const auto of = [](const std::string& more) { return plan::weight_casts_of(adapted(more)); };
  CHECK(of("parallel: {mode: zero1, world_size: 2}\n") == Fp8WeightCasts::once_a_step);
  CHECK(of("parallel: {mode: zero2, world_size: 2}\n") == Fp8WeightCasts::once_a_step);
  CHECK(of("parallel: {mode: zero3, world_size: 2}\n") == Fp8WeightCasts::before_gathers);
  CHECK(of("parallel: {mode: dp, world_size: 2}\n") == Fp8WeightCasts::once_a_step);
  CHECK(of("memory: {parameter_offload: cpu}\n") == Fp8WeightCasts::in_each_use);
  CHECK(of("memory: {optimizer_offload: cpu}\n") == Fp8WeightCasts::once_a_run);
}

TEST_CASE("copies lie where all programs have them, and are no part of what is saved") {
  const plan::RunPlan run = adapted("");
  const plan::PlacedProgram &train = run.role().train.back(),
                            &evaluate = run.role().evaluate.back();
  for (std::size_t b = 0; b < train.program.buffers.size(); ++b) {
    if (!program::is_derived(train.program.buffers[b])) continue;
    CHECK(evaluate.program.buffers[b].name == train.program.buffers[b].name);
    CHECK(evaluate.placement.base[b] == train.placement.base[b]);
  }
  // a checkpoint that is written beside training is made of a copy of what is saved
  const plan::RunPlan offloaded = adapted("memory: {optimizer_offload: cpu}\n");
  CHECK(bytes_in_fp8(offloaded) == bytes_in_fp8(run));
  program::Bytes saved = 0;
  for (const program::Buffer& b : offloaded.role().train.back().program.buffers)
    if (b.resident && b.role != program::Role::cast_weight) saved += b.bytes();
  CHECK(offloaded.memory.beside_host_bytes > 0);
  CHECK(offloaded.memory.beside_host_bytes <= 2 * saved);
}

TEST_CASE("weights that nothing reads but a run's first casts rest on the host") {
  for (const std::string ranks : {"", "parallel: {mode: ddp, world_size: 2}\n"}) {
    CAPTURE(ranks);
    const plan::RunPlan run = adapted(ranks),
                        // reads the weights themselves
        another = adapted(ranks + "eval: {precision: fp16}\n");
    // 12 d^2 elements a layer, in bf16
    const std::int64_t weights = std::int64_t{2} * 12 * 12 * 768 * 768;
    CHECK(on_host(run, plan::weights_on_host_category) == weights);
    CHECK(on_host(another, plan::weights_on_host_category) == 0);
    for (const auto* programs : {&run.role().train, &run.role().evaluate})
      for (const program::Instruction& i : programs->back().program.steady)
        for (const program::Use& u : i.uses)
          CHECK(programs->back().program.buffers[static_cast<std::size_t>(u.buffer)].space ==
                program::Space::device);
    // a layer's four matrices pass in two groups, the larger one of 8 d^2
    const auto peak = [](const plan::RunPlan& plan) {
      return plan.role().train.back().placement.peak_of(program::Space::device);
    };
    CHECK(peak(run) + weights <= peak(another) + 2 * 8 * 768 * 768 + (1 << 20));
    CHECK(run.memory.arena_bytes >= peak(run));
  }
}

TEST_CASE("weights stay on the device where the host has no room for them") {
  recipe::Recipe recipe = gpt2_recipe(
      "precision: {compute: bf16, products: fp8, small_products: "
      "fp8}\nmemory: {activation_checkpoint: none}\n");
  recipe.model.adapter.type = options::AdapterType::lora;
  const std::int64_t weights = std::int64_t{2} * 12 * 12 * 768 * 768;
  const auto beside = [&](std::int64_t host_bytes) {
    return planned(recipe, {.host_bytes = host_bytes, .gpu = "", .gpus = {h200_gpu()}});
  };
  const plan::RunPlan wide = beside(64 * weights), narrow = beside(weights);
  CHECK(plan::weight_casts_of(wide) == operations::Fp8WeightCasts::once_a_run);
  CHECK(on_host(wide, plan::weights_on_host_category) == weights);
  CHECK(plan::weight_casts_of(narrow) == operations::Fp8WeightCasts::in_each_use);
  CHECK(narrow.memory.host_bytes == 0);
}

TEST_CASE("of a host without room for weights and activations, a refusal says what helps either") {
  recipe::Recipe recipe = gpt2_recipe(
      "precision: {compute: bf16, products: fp8, small_products: "
      "fp8}\nmemory: {activation_checkpoint: none, activation_offload: cpu}\n");
  recipe.model.adapter.type = options::AdapterType::lora;
  const std::string said = user_error_of([&] {
    planned(recipe, {.host_bytes = std::int64_t{64} << 20, .gpu = "", .gpus = {h200_gpu()}});
  });
  CAPTURE(said);
  for (const char* part : {"offloaded activations ", plan::weights_on_host_category,
                           "recompute more (memory.activation_checkpoint)",
                           "let more ranks share the weights (parallel.mode: zero3)"})
    CHECK(said.find(part) != std::string::npos);
}

TEST_CASE("a GPU that multiplies some programs' rows in bf16 casts in steps") {
  plan::RunPlan run = adapted("");
  REQUIRE(plan::casts_weights_once_a_run(run));
  run.row_lengths = {128, 256};
  CHECK(plan::casts_weights_once_a_run(run));
  run.row_lengths = {6, 256};  // 24 rows, no multiple of 16
  CHECK_FALSE(plan::casts_weights_once_a_run(run));
  CHECK(plan::casts_weights_once(run));
}

}  // namespace weight_casts_test
