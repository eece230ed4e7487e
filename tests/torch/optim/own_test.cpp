// Optimizers of the user's own, against trainx's that compute the same.
#include "optim/own.hpp"
#include "kernels/optimizer/own_stage.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include "group_fixture.hpp"
#include "optim/chunks.hpp"
#include "optim/group_table.hpp"
#include "optim/own_definitions.hpp"
#include "optim/own_rule.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include "trainx/optimizer.hpp"
#include <atomic>
#include <stdexcept>
#include <tuple>

namespace own_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

struct HeavyBallOptions {
  double momentum = 0.9, weight_decay = 0.1;
};
template <class Visitor>
void visit_fields(Visitor& field, HeavyBallOptions& o) {
  field("momentum", o.momentum, unit_interval(), "decay of the velocity");
  field("weight_decay", o.weight_decay, non_negative(), "added to the gradient");
}

void heavy_ball(const HeavyBallOptions& o, const UpdateRange& range) {
  for (std::size_t i = 0; i < range.parameter.size(); ++i) {
    float &w = range.parameter[i], &v = range.states[0][i];
    v = v * static_cast<float>(o.momentum) +
        (range.gradient[i] + static_cast<float>(range.weight_decay) * w);
    w += static_cast<float>(-range.lr) * v;
  }
}

void tensor_heavy_ball(const HeavyBallOptions& o, const UpdateTensors& range) {
  const at::Tensor &w = range.parameter, &v = range.states[0];
  v.mul_(o.momentum).add_(range.gradient + w * range.weight_decay);
  w.sub_(v * range.lr);
}

template <class Rule>
options::OptimizerOptions own(const std::string& name, std::vector<OptimizerState> states,
                              Rule rule) {
  add_optimizer<HeavyBallOptions>(name, "", std::move(states), rule);
  return optimizer_descriptions().back();
}

StepScalars step_of(const GroupFixture& f, std::int64_t applied) {
  StepScalars s;
  s.norm2 = squared_norm(f.group, f.gradient.data());
  s.gradient_scale = 0.75;
  s.applied_steps = applied;
  s.lr = 1e-2 / static_cast<double>(1 + applied);
  s.max_grad_norm = applied % 2 ? 0.5 : 0;
  return s;
}

}  // namespace

TEST_CASE("a rule of the user's own gives the bits of the same rule of trainx's") {
  const auto [dtype, master, stochastic] = GENERATE(
      std::tuple{DType::f32, Master::absent, false}, std::tuple{DType::bf16, Master::absent, false},
      std::tuple{DType::bf16, Master::absent, true}, std::tuple{DType::bf16, Master::fp32, false},
      std::tuple{DType::bf16, Master::split, false});
  const std::int64_t n = GENERATE(1, 129, chunk_elements + 7, 100003);
  static const auto options = own("heavy_ball", {{"velocity"}}, heavy_ball);
  GroupFixture mine(n, options, dtype, master, 5);
  if (stochastic) mine.rounding_seed = 0x123456789abcdefull;
  GroupFixture theirs = mine;
  const auto rule = make_optimizer(options),
             sgd = make_optimizer(options::SgdOptions{0.9, false, 0.1});
  for (std::int64_t step = 0; step < 10; ++step) {
    mine.new_gradient(500 + static_cast<unsigned>(step));
    if (step == 5) mine.gradient[0] = std::numeric_limits<float>::infinity();  // left out
    theirs.gradient = mine.gradient;
    rule->update(mine.memory(), step_of(mine, step));
    sgd->update(theirs.memory(), step_of(theirs, step));
  }
  CHECK(same_bits(mine.exact, theirs.exact));
  CHECK(same_bits(mine.bf16, theirs.bf16));
  CHECK(same_bits(mine.low, theirs.low));
  CHECK(same_bits(mine.states[0], theirs.states[0]));
  CHECK(mine.gaps_untouched());
  CHECK(std::isfinite(mine.weights()[0]));
}

TEST_CASE("a weight decay of a group reaches the rule, and lr as the group scales it") {
  const auto options = own("grouped", {{"velocity"}}, heavy_ball);
  GroupFixture mine(1000, options, DType::f32, Master::absent, 5);
  mine.group.training.weight_decay = 0.7;
  mine.group.training.lr_scale = 0.5;
  GroupFixture theirs = mine;
  mine.new_gradient(1), theirs.new_gradient(1);
  make_optimizer(options, {mine.group})->update(mine.memory(), step_of(mine, 0));
  make_optimizer(options::SgdOptions{0.9, false, 0.1}, {theirs.group})
      ->update(theirs.memory(), step_of(theirs, 0));
  CHECK(same_bits(mine.exact, theirs.exact));
}

TEST_CASE("a rule that fails, or makes what is not finite, is told by name") {
  static std::atomic<int> fault = 0;
  const auto options = own("faulty", {{"m"}}, [](const HeavyBallOptions&, const UpdateRange& r) {
    if (r.step < 100) return;
    if (fault == 1) throw std::runtime_error("out of ideas");
    if (fault == 2) r.parameter_view().add_(at::ones({2, 3}));
    if (fault == 3) r.parameter.back() = std::numeric_limits<float>::infinity();
    if (fault == 4) r.states[0].front() = std::numeric_limits<float>::quiet_NaN();
  });
  const auto rule = make_optimizer(options);
  GroupFixture f(50000, options, DType::f32, Master::absent, 5);
  const std::vector<float> before = f.exact;
  f.new_gradient(1);
  const auto told = [&](int which) {
    fault = which;
    return user_error_of([&] { rule->update(f.memory(), step_of(f, 99)); });
  };
  CHECK(told(0) == "nothing thrown");
  for (const auto& [which, part] :
       {std::pair{1, "out of ideas"}, {2, "78: "}, {3, "80: "}, {4, "'m'"}}) {
    const std::string said = told(which);
    INFO(said);
    CHECK(said.find(part) != std::string::npos);
    CHECK(said.starts_with(which < 3 ? "78: optimizer faulty" : "80: optimizer faulty"));
    CHECK(same_bits(f.exact, before));  // nothing of it reached the weights
  }
}

TEST_CASE("a rule that looks beyond an element is refused before it updates") {
  const auto norm = own("norm", {}, [](const HeavyBallOptions&, const UpdateRange& r) {
    r.parameter_view().sub_(r.gradient_view() / r.gradient_view().norm(), r.lr);
  });
  CHECK(user_error_of([&] { make_optimizer(norm); }).starts_with("78: optimizer norm"));
  const auto before = own("shift", {{"m"}}, [](const HeavyBallOptions&, const UpdateRange& r) {
    for (std::size_t i = 1; i < r.parameter.size(); ++i) r.states[0][i] = r.gradient[i - 1];
  });
  CHECK(user_error_of([&] { make_optimizer(before); }).find("'m'") != std::string::npos);
  const auto functions = own("functions", {}, [](const HeavyBallOptions&, const UpdateRange& r) {
    r.parameter_view().sub_(r.gradient_view().tanh().exp(), r.lr);  // vectors and their rest
  });
  CHECK(user_error_of([&] { make_optimizer(functions); }) == "nothing thrown");
}

TEST_CASE("a rule that computes with tensors is given the step's numbers as tensors") {
  static std::vector<double> seen;
  const auto options =
      own("tensors", {{"velocity"}}, [](const HeavyBallOptions& o, const UpdateTensors& range) {
        seen = {range.lr.item<double>(), range.step.item<double>()};
        CHECK(range.lr.scalar_type() == at::kDouble);
        CHECK(range.step.dim() == 0);
        CHECK(range.stream == nullptr);
        tensor_heavy_ball(o, range);
      });
  CHECK(std::get<options::OwnOptimizerOptions>(options).on_tensors);
  GroupFixture mine(1000, options, DType::f32, Master::absent, 5);
  GroupFixture theirs = mine;
  const auto rule = make_optimizer(options),
             sgd = make_optimizer(options::SgdOptions{0.9, false, 0.1});
  for (std::int64_t step = 0; step < 5; ++step) {
    mine.new_gradient(500 + static_cast<unsigned>(step));
    theirs.gradient = mine.gradient;
    rule->update(mine.memory(), step_of(mine, step));
    CHECK(seen == std::vector{step_of(mine, step).lr, static_cast<double>(step + 1)});
    sgd->update(theirs.memory(), step_of(theirs, step));
  }
  for (const program::ParameterSpec& p : mine.group.parameters)
    for (std::int64_t i = p.offset; i < p.offset + p.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (!(std::abs(mine.exact[at] - theirs.exact[at]) <= 1e-6f)) FAIL("element " << i);
    }
  CHECK(mine.gaps_untouched());
}

TEST_CASE("a rule that finds no memory is told from one that fails") {
  const auto code_of = [](const char* name, auto rule) {
    const auto options = own(name, {{"velocity"}}, rule);
    GroupFixture group(10, options, DType::f32, Master::absent, 5);
    try {
      make_optimizer(options)->update(group.memory(), step_of(group, 0));
    } catch (const UserError& e) { return e.code(); }
    return ExitCode::ok;
  };
  CHECK(code_of("starving", [](const HeavyBallOptions&, const UpdateTensors&) {
          throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "none is left");
        }) == ExitCode::out_of_memory);
  CHECK(code_of("failing", [](const HeavyBallOptions&, const UpdateTensors&) {
          throw c10::Error({__func__, __FILE__, __LINE__}, "no such operation");
        }) == ExitCode::invalid_recipe);
}

TEST_CASE("laid out, given to the rule and put back, weights are those that it updates in place") {
  const auto [dtype, master, stochastic] = GENERATE(
      std::tuple{DType::f32, Master::absent, false}, std::tuple{DType::bf16, Master::absent, false},
      std::tuple{DType::bf16, Master::absent, true}, std::tuple{DType::bf16, Master::fp32, false},
      std::tuple{DType::bf16, Master::split, false});
  const std::int64_t n = GENERATE(1, 129, kernels::chunk_elements + 7, 50001);
  static const auto options = own("laid_out", {{"velocity"}}, heavy_ball);
  const OwnRule rule(std::get<options::OwnOptimizerOptions>(options));
  GroupFixture mine(n, options, dtype, master, 5);
  if (stochastic) mine.rounding_seed = 0x123456789abcdefull;
  GroupFixture theirs = mine;
  const auto in_place = make_optimizer(options);
  for (std::int64_t step = 0; step < 4; ++step) {
    mine.new_gradient(500 + static_cast<unsigned>(step));
    if (step == 2) mine.gradient[0] = std::numeric_limits<float>::infinity();  // left out
    theirs.gradient = mine.gradient;
    const StepScalars scalars = step_of(mine, step);
    in_place->update(theirs.memory(), scalars);

    GroupMemory memory = mine.memory();
    const auto states = std::exchange(memory.states, {});
    const auto ranges = update_ranges(memory, {});
    const StepPointers pointers(scalars);
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      const auto elements = static_cast<std::size_t>(ranges[k].elements);
      std::vector<float> weights(elements), gradients(elements), velocity(elements);
      float* const state = static_cast<float*>(states[0]) + mine.group.parameters[k].offset;
      const kernels::StagedRange staged{ranges[k], 0, &state};
      const auto chunks = kernels::chunks_of({ranges[k].elements});
      const kernels::StageTable table{&staged, chunks.data(),
                                      static_cast<std::int64_t>(chunks.size())};
      kernels::OwnStep numbers;
      std::int64_t fault = 0;
      const kernels::OwnStage stage{&numbers,        gradients.data(),   weights.data(),
                                    velocity.data(), ranges[k].elements, 1,
                                    &fault};
      kernels::own_stage_reference(table, weight_kind(memory), pointers.get(), pointers.scale(),
                                   stage);
      CHECK(numbers.finite == (step == 2 ? 0 : 1));
      std::vector<std::span<float>> kept{velocity};
      if (numbers.finite)
        rule.update({weights, gradients, kept, numbers.lr, static_cast<std::int64_t>(numbers.step),
                     ranges[k].decays ? rule.weight_decay() : 0});
      kernels::own_unstage_reference(table, weight_kind(memory), pointers.get(), stage);
      CHECK(fault == 0);
    }
  }
  CHECK(same_bits(mine.exact, theirs.exact));
  CHECK(same_bits(mine.bf16, theirs.bf16));
  CHECK(same_bits(mine.low, theirs.low));
  CHECK(same_bits(mine.states[0], theirs.states[0]));
  CHECK(mine.gaps_untouched());
}

TEST_CASE("what is put back that is not finite is told with its update") {
  float weight = 1, state = 2, gradient = 3;
  double norm2 = 1, targets = 1, lr = 1e-2;
  std::int64_t applied = 6, fault = 0;
  float* const state_at = &state;
  const kernels::StagedRange staged{
      {.gradient = &gradient, .parameter = &weight, .elements = 1}, 0, &state_at};
  const kernels::Chunk chunk;
  const kernels::StageTable table{&staged, &chunk, 1};
  const kernels::UpdateScalars scalars{&norm2, &targets, &applied, &lr, 1};
  float to_weight = 0, to_gradient = 0, to_state = 0;
  kernels::OwnStep numbers;
  const kernels::OwnStage stage{&numbers, &to_gradient, &to_weight, &to_state, 1, 1, &fault};
  kernels::own_stage_reference(table, kernels::WeightKind::fp32, scalars, {1, 0, 0.5}, stage);
  CHECK((to_weight == 1 && to_gradient == 3 && to_state == 2));
  CHECK((numbers.lr == 5e-3 && numbers.step == 7 && numbers.finite == 1));
  to_state = std::numeric_limits<float>::quiet_NaN();
  kernels::own_unstage_reference(table, kernels::WeightKind::fp32, scalars, stage);
  CHECK(kernels::update_of_fault(fault) == 7);
  CHECK(kernels::what_of_fault(fault) == 1);
}

}  // namespace own_test
