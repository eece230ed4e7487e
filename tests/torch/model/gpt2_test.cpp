// The explicit blocks against autograd: loss, and every gradient of the whole model.
#include "cases.hpp"
#include "reference_gpt2.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include "support/catch.hpp"

namespace gpt2_test {

using namespace trainx;
using model::test::Case;
using model::test::cases;
using model::test::make_run;
using model::test::PlainRun;
using model::test::reference_of;
using model::test::relative_error;

namespace {

void compare(PlainRun& run, const model::test::ReferenceResult& want, double tolerance) {
  CHECK(std::abs(run.buffer("loss_sum", DType::f64).item<double>() - want.loss_sum) <=
        tolerance * std::abs(want.loss_sum));
  CHECK(run.buffer("target_count", DType::f64).item<double>() == want.target_count);
  for (const auto& [name, got] : run.parameters("g.", DType::f32)) {
    INFO(name << ", largest gradient " << want.gradients.at(name).abs().max().item<double>());
    CHECK(relative_error(got, want.gradients.at(name)) <= tolerance);
  }
}

/// The same operations without training: forward and `last`.
PlainRun forward_run(PlainRun& train, const Case& t, program::Op last) {
  PlainRun run(t.dims, train.graph, program::forward_program(train.program, train.graph, last));
  run.mode = model::Mode::eval;
  for (const auto& group : train.graph.groups)
    run.memory.at("w." + group.name).copy_(train.memory.at("w." + group.name));
  for (const char* name : {"tokens", "targets", "positions"})
    run.memory.at(name).copy_(train.memory.at(name));
  return run;
}

}  // namespace

TEST_CASE("loss and all gradients equal autograd's in fp32") {
  const Case& t = cases().at(GENERATE(range(0, 8)));
  INFO(t.name);
  PlainRun run = make_run(t, DType::f32);
  run.run();
  compare(run, reference_of(run, t), 1e-5);
}

TEST_CASE("what a GPU computes, computed here, is the same") {
  const Case& t = cases().at(GENERATE(range(0, 8)));
  INFO(t.name);
  PlainRun run = make_run(t, architectures::graph_of(t.dims, t.batch, t.length, DType::f32,
                                                     architectures::GraphOptions::on_gpu()));
  run.run();
  compare(run, reference_of(run, t), 1e-5);
}

TEST_CASE("16-bit floats follow the reference at their weights") {
  const Case& t = cases().at(GENERATE(0, 1, 2, 3, 6));
  const DType compute = GENERATE(DType::bf16, DType::f16);
  INFO(t.name << " " << name_of(compute));
  PlainRun run = make_run(t, compute);
  run.run();
  compare(run, reference_of(run, t), compute == DType::f16 ? 1e-2 : 5e-2);
}

TEST_CASE("another dropout seed gives another loss and other gradients") {
  const Case& t = cases().at(1);
  PlainRun run = make_run(t, DType::f32);
  const auto want = reference_of(run, t);
  run.seed += 1;
  run.run();
  CHECK(std::abs(run.buffer("loss_sum", DType::f64).item<double>() / want.loss_sum - 1) > 1e-3);
  CHECK(relative_error(run.parameters("g.", DType::f32).at("wte.weight"),
                       want.gradients.at("wte.weight")) > 1e-2);
}

TEST_CASE("a second micro-step adds to gradients and sums") {
  const Case& t = cases().at(GENERATE(0, 3, 6));
  INFO(t.name);
  PlainRun run = make_run(t, DType::f32);
  run.run();
  std::map<std::string, at::Tensor> once;
  for (const auto& [name, g] : run.parameters("g.", DType::f32)) once[name] = g.clone();
  const double loss = run.buffer("loss_sum", DType::f64).item<double>(),
               count = run.buffer("target_count", DType::f64).item<double>();
  for (auto& i : run.program.steady)
    for (auto& u : i.uses) {
      const program::Role role = run.program.buffers[u.buffer].role;
      if (u.how == program::How::overwrite && (role == program::Role::gradient || is_scalar(role)))
        u.how = program::How::accumulate;
    }
  run.run();
  CHECK(std::abs(run.buffer("loss_sum", DType::f64).item<double>() - 2 * loss) <= 1e-12 * loss);
  CHECK(run.buffer("target_count", DType::f64).item<double>() == 2 * count);
  for (const auto& [name, g] : run.parameters("g.", DType::f32)) {
    INFO(name);
    CHECK(relative_error(g, once.at(name) * 2) <= 1e-6);
  }
}

TEST_CASE("dropout does not depend on how the batch is cut") {
  Case whole = cases().at(1), half = whole;
  whole.batch = 4;
  half.batch = 2;
  PlainRun together = make_run(whole, DType::f32), part = make_run(half, DType::f32);
  together.run();
  double loss = 0;
  std::map<std::string, at::Tensor> sums;
  for (int k = 0; k < 2; ++k) {
    for (const char* name : {"tokens", "targets", "positions"}) {
      const std::int64_t bytes = part.memory.at(name).numel();
      part.memory.at(name).copy_(together.memory.at(name).narrow(0, k * bytes, bytes));
    }
    part.run();
    loss += part.buffer("loss_sum", DType::f64).item<double>();
    for (const auto& [name, g] : part.parameters("g.", DType::f32))
      sums[name] = k == 0 ? g.clone() : sums.at(name) + g;
  }
  CHECK(std::abs(loss - together.buffer("loss_sum", DType::f64).item<double>()) <= 1e-6 * loss);
  for (const auto& [name, g] : together.parameters("g.", DType::f32))
    CHECK(relative_error(sums.at(name), g) <= 1e-5);
}

TEST_CASE("evaluate gives the loss without dropout, predict the logits of the position asked for") {
  const Case& t = cases().at(GENERATE(0, 1, 2, 6));
  INFO(t.name);
  PlainRun train = make_run(t, DType::f32);
  Case without_dropout = t;
  without_dropout.dims.dropout = 0;
  const auto want = reference_of(train, without_dropout);
  PlainRun evaluation = forward_run(train, t, program::Op::evaluate);
  evaluation.run();
  CHECK(std::abs(evaluation.buffer("loss_sum", DType::f64).item<double>() - want.loss_sum) <=
        1e-5 * want.loss_sum);
  CHECK(evaluation.buffer("target_count", DType::f64).item<double>() == want.target_count);

  PlainRun prediction = forward_run(train, t, program::Op::predict);
  for (std::int64_t b = 0; b < t.batch; ++b)
    prediction.buffer("targets", DType::i32)[b * t.length].fill_((3 + 5 * b) % t.length);
  prediction.run();
  const at::Tensor logits =
      prediction.buffer("logits", DType::f32).view({t.batch, t.dims.vocab_size});
  for (std::int64_t b = 0; b < t.batch; ++b)
    CHECK(relative_error(logits[b], want.logits[b][(3 + 5 * b) % t.length]) <= 1e-5);
}

}  // namespace gpt2_test
