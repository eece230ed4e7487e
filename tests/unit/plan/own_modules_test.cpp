// Plans for modules of the user's own, with shapes as a worker measures them on a GPU.
#include "core/error.hpp"
#include "plan/run_plan.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include <algorithm>
#include <cmath>

namespace own_modules_test {

using namespace trainx;

namespace {

constexpr std::int64_t B = 4, T = 8, width = 16, vocab = 32, mib = 1 << 20;

struct Described {
  Described() {
    architectures::set_described_models(
        {{"chain", "of a test", {{"vocab_size", vocab, non_negative(), "tokens"}}}});
  }
  ~Described() { architectures::set_described_models({}); }
};

architectures::CustomShape shape_of(DType compute, bool on_gpu, std::int64_t samples = B) {
  architectures::CustomShape shape{.micro_batch_size = samples, .length = T, .compute = compute};
  shape.modules = {{"embedding", {{"embedding.weight", {vocab, width}}}, {"tokens"}},
                   {"inner", {{"inner.weight", {width, width}}}, {"embedding.out"}},
                   {"head", {{"head.weight", {vocab, width}}}, {"inner.out"}}};
  for (std::size_t k = 0; k < 2; ++k) {
    auto& m = shape.modules[k];
    m.outputs = {{m.name + ".out", {samples, T, width}}};
    m.graph_bytes = 3 * mib;
    m.draws = false;
  }
  shape.library_bytes = 40 * mib;
  shape.on_gpu = on_gpu;
  return shape;
}

facts::Facts facts_of(bool has_gpu, DType compute = DType::f32) {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{16} << 30;
  if (has_gpu) f.hardware.gpus = {{"NVIDIA H200", 90, 150'754'820'096}};
  f.data = {true, true, 1000, 100, vocab, {}, ""};
  f.model_shapes = {shape_of(compute, has_gpu), shape_of(compute, has_gpu, 1)};
  return f;
}

recipe::Recipe recipe_of(const std::string& more = "") {
  return recipe::parse_recipe(
             "model: {type: chain}\ndata: {type: tokens, train: a.bin, sequence_length: 8}\n"
             "batch: {global_batch_size: 8, micro_batch_size: 4}\n" +
                 more,
             "test")
      .recipe;
}

std::int64_t bytes_of(const plan::RunPlan& plan, const std::string& category) {
  for (const auto& [name, bytes] : plan.memory.categories)
    if (name == category) return bytes;
  return 0;
}

bool notes(const plan::RunPlan& plan, const std::string& words) {
  return std::ranges::any_of(
      plan.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

/// The sentence of a refusal with that exit code.
template <class F>
std::string refusal(ExitCode code, F&& f) {
  const std::string said = user_error_of(f);
  CHECK(said.starts_with(std::to_string(static_cast<int>(code)) + ": "));
  return said;
}

}  // namespace

TEST_CASE("modules on a GPU have a line of the plan for what they allocate") {
  const Described models;
  const auto plan = plan::make_run_plan(recipe_of(), facts_of(true));
  CHECK(plan.on_gpu);
  // both graphs are alive at once, beside what one instruction takes
  CHECK(bytes_of(plan, "modules' own tensors") == (2 * 3 + 40) * mib);
  CHECK(bytes_of(plan, "library calls") == architectures::module_workspace_bytes);
  CHECK(plan.memory.library_bytes == 46 * mib + architectures::module_workspace_bytes);
  const auto recomputed =
      plan::make_run_plan(recipe_of("memory: {activation_checkpoint: full}\n"), facts_of(true));
  CHECK(bytes_of(recomputed, "modules' own tensors") == (3 + 40) * mib);
  CHECK_FALSE(plan.rates.has_value());
  CHECK_FALSE(plan.time.has_value());
  // on a CPU the library's own allocator holds them
  const auto on_cpu = plan::make_run_plan(recipe_of(), facts_of(false));
  CHECK_FALSE(on_cpu.on_gpu);
  CHECK(bytes_of(on_cpu, "modules' own tensors") == 0);
  CHECK(on_cpu.memory.library_bytes == 46 * mib);
}

TEST_CASE("a budget that the modules' memory exceeds is refused") {
  const Described models;
  const auto error = refusal(ExitCode::out_of_memory, [] {
    plan::make_run_plan(recipe_of("memory: {budget: 64 MiB}\n"), facts_of(true));
  });
  CHECK(error.find("memory.budget") != std::string::npos);
}

TEST_CASE("steps are captured unless a module does what a CUDA graph cannot hold") {
  const Described models;
  using recipe::Execution;
  const auto execution = [](const plan::RunPlan& plan) { return *plan.recipe.run.execution.value; };
  facts::Facts facts = facts_of(true);
  CHECK(execution(plan::make_run_plan(recipe_of(), facts)) == Execution::graph);
  CHECK(execution(plan::make_run_plan(recipe_of("run: {execution: eager}\n"), facts)) ==
        Execution::eager);
  facts.model_shapes[0].not_captured = "module 'inner' calls aten::nonzero";
  const auto plan = plan::make_run_plan(recipe_of(), facts);
  CHECK(execution(plan) == Execution::eager);
  CHECK(notes(plan, "run.execution auto takes eager: module 'inner' calls aten::nonzero"));
  const auto asked = plan::make_run_plan(recipe_of("run: {execution: eager}\n"), facts);
  CHECK_FALSE(notes(asked, "aten::nonzero"));
  const auto error = refusal(ExitCode::invalid_recipe, [&] {
    plan::make_run_plan(recipe_of("run: {execution: graph}\n"), facts);
  });
  CHECK(error.find("run.execution is graph") != std::string::npos);
  CHECK(error.find("aten::nonzero") != std::string::npos);
}

TEST_CASE("modules compute in fp16, and evaluations in another type, where buffers do not change") {
  const Described models;
  facts::Facts facts = facts_of(true, DType::f16);
  facts.model_shapes.push_back(shape_of(DType::bf16, true));
  const auto recipe = [&] {
    recipe::Recipe r = recipe_of("precision: fp16\n");
    r.eval.precision.value = recipe::EvalPrecision::bf16;
    return r;
  }();
  const auto plan = plan::make_run_plan(recipe, facts);
  CHECK(plan.compute == DType::f16);
  REQUIRE(!plan.role().evaluate.empty());
  CHECK(plan.role().evaluate.back().graph.compute == DType::bf16);
  facts.model_shapes[0].modules[1].changing = {"mean"};
  const auto error = refusal(ExitCode::invalid_recipe, [&] { plan::make_run_plan(recipe, facts); });
  CHECK(error.find("eval.precision") != std::string::npos);
  CHECK(error.find("'mean'") != std::string::npos);
}

TEST_CASE("selective recomputation computes modules again that are named cheap") {
  const Described models;
  facts::Facts facts = facts_of(true);
  const recipe::Recipe selective = recipe_of("memory: {activation_checkpoint: selective}\n");
  const auto none =
      refusal(ExitCode::invalid_recipe, [&] { plan::make_run_plan(selective, facts); });
  CHECK(none.find("selective") != std::string::npos);
  for (auto& shape : facts.model_shapes) shape.modules[1].cheap = true;
  const auto plan = plan::make_run_plan(selective, facts);
  // one graph is alive from forward on, the other in backward alone
  CHECK(bytes_of(plan, "modules' own tensors") ==
        bytes_of(plan::make_run_plan(recipe_of(), facts), "modules' own tensors"));
  const auto& steady = plan.role().train.back().program.steady;
  CHECK(std::ranges::count(steady, program::Op::recompute, &program::Instruction::op) == 1 * 2);
  facts.model_shapes[0].modules[0].changing = {"mean"};  // not computed again
  CHECK_NOTHROW(plan::make_run_plan(selective, facts));
  facts.model_shapes[0].modules[1].changing = {"mean"};
  const auto error =
      refusal(ExitCode::invalid_recipe, [&] { plan::make_run_plan(selective, facts); });
  CHECK(error.find("'inner'") != std::string::npos);
}

TEST_CASE("a step takes as long as its modules were measured to take") {
  const Described models;
  facts::Facts facts = facts_of(true);
  for (auto& shape : facts.model_shapes) {
    const double ms = shape.micro_batch_size == B ? 4e-3 : 1e-3;
    for (auto& m : shape.modules) m.forward_s = ms, m.backward_s = 2 * ms;
    shape.modules.back().backward_s = 0;
  }
  const auto plan = plan::make_run_plan(recipe_of(), facts);
  REQUIRE(plan.time.has_value());
  constexpr double micro_s = 4e-3 * (3 + 2 + 2);  // two modules there and back, and the loss
  CHECK(std::abs(plan.time->measured_s - 2 * micro_s) < 1e-9);
  CHECK(plan.time->step_s > 2 * micro_s);
  CHECK(plan.time->step_s < 2.1 * micro_s);
  CHECK(plan.time->bottleneck.find("modules") != std::string::npos);
  // between micro-batches that were measured, times lie between theirs
  recipe::Recipe smaller = recipe_of();
  smaller.batch.micro_batch_size.value = 2;
  const auto half = plan::make_run_plan(smaller, facts);
  CHECK(std::abs(half.time->measured_s - 4 * 2e-3 * 7) < 1e-9);
  // on a GPU that is not there nothing was measured
  facts::Facts elsewhere = facts_of(false);
  const auto refused =
      user_error_of([&] { plan::make_run_plan(recipe_of(), elsewhere, {.gpu = "h200"}); });
  CHECK(refused.starts_with("2: plan --gpu"));
}

TEST_CASE("every pass plans modules on a GPU") {
  const Described models;
  facts::Facts facts = facts_of(true);
  facts.hardware.local_ranks = 2;
  facts.hardware.gpus.push_back(facts.hardware.gpus.front());
  const std::string memory = "memory: {activation_checkpoint: full, ",
                    two = "parallel: {world_size: 2, mode: ";
  for (const std::string& how :
       {memory + "optimizer_offload: cpu}\n", memory + "parameter_offload: cpu}\n",
        std::string("optimizer: {type: adamw, update_in_backward: true, max_grad_norm: 0}\n"
                    "batch: {global_batch_size: 4, micro_batch_size: 4}\n"),
        two + "ddp}\nbatch: {global_batch_size: 8, micro_batch_size: 4}\n",
        two + "dp}\nbatch: {global_batch_size: 8, micro_batch_size: 4}\n",
        two + "zero1}\nbatch: {global_batch_size: 8, micro_batch_size: 4}\n",
        two + "zero2}\nbatch: {global_batch_size: 8, micro_batch_size: 4}\n",
        two + "zero3}\nbatch: {global_batch_size: 8, micro_batch_size: 4}\n" + memory +
            "parameter_offload: cpu}\n"}) {
    INFO(how);
    const std::string batch = how.find("batch:") == std::string::npos
                                  ? "batch: {global_batch_size: 8, micro_batch_size: 4}\n"
                                  : "";
    const auto recipe = recipe::parse_recipe(
                            "model: {type: chain}\n"
                            "data: {type: tokens, train: a.bin, sequence_length: 8}\n" +
                                batch + how,
                            "test")
                            .recipe;
    const auto plan = plan::make_run_plan(recipe, facts);
    CHECK(plan.on_gpu);
    CHECK(bytes_of(plan, "modules' own tensors") > 0);
  }
}

TEST_CASE("sizes that were measured are chosen among, and levels that modules have") {
  const Described models;
  facts::Facts facts = facts_of(true);
  recipe::Recipe recipe = recipe_of();
  recipe.batch.micro_batch_size.value.reset();
  // of 8 samples, 4 were measured at most
  const auto chosen = plan::make_run_plan(recipe, facts);
  CHECK(chosen.batch.micro_batch_size == 4);
  CHECK(chosen.batch.grad_accum_steps == 2);
  // all that autograd keeps does not fit, what one module keeps does
  recipe.memory.fit = true;
  for (auto& shape : facts.model_shapes)
    for (std::size_t k = 0; k < 2; ++k) shape.modules[k].graph_bytes = 2048 * mib;
  const auto none = plan::make_run_plan(recipe_of(), facts);
  recipe.memory.budget.value = ByteSize{none.memory.total_bytes() - 1024 * mib};
  const auto fitting = plan::make_run_plan(recipe, facts);
  CHECK(fitting.memory.total_bytes() <= recipe.memory.budget.value->bytes);
  for (const RecomputeLevel level : *fitting.recipe.memory.activation_checkpoint.value)
    CHECK((level == RecomputeLevel::none || level == RecomputeLevel::full));
  // a run reads what was chosen
  const auto again = plan::make_run_plan(
      recipe::parse_recipe(recipe::dump(fitting.recipe), "resolved").recipe, facts);
  CHECK(again.memory.total_bytes() == fitting.memory.total_bytes());
}

}  // namespace own_modules_test
