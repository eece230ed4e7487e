// The explicit blocks against autograd: loss, and every gradient of the whole model.
#include "bert_cases.hpp"
#include "operations/norm/layer_norm.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/zeros.h>
#include "support/catch.hpp"

namespace bert_test {

using namespace trainx;
using model::test::bert_cases;
using model::test::BertCase;
using model::test::BertResult;
using model::test::make_run;
using model::test::PlainRun;
using model::test::relative_error;

namespace {

/// Largest of the relative differences of the loss and of each gradient.
double worst_difference(PlainRun& run, const BertResult& want, std::string* where = nullptr) {
  double worst =
      want.loss_sum == 0
          ? run.buffer("loss_sum", DType::f64).item<double>()
          : std::abs(run.buffer("loss_sum", DType::f64).item<double>() / want.loss_sum - 1);
  if (!std::isfinite(worst)) return worst;
  double largest = 0;  // of all gradients
  for (const auto& [name, g] : want.gradients)
    largest = std::max(largest, g.abs().max().item<double>());
  for (const auto& [name, got] : run.parameters("g.", DType::f32)) {
    const at::Tensor g = want.gradients.at(name);
    // A key's bias moves all scores of a row alike: its gradient is zero, and what is computed is
    // rounding.
    const double error = name.ends_with("key.bias")
                             ? (got.to(at::kDouble) - g).abs().max().item<double>() /
                                   std::max(largest, 1e-30)
                             : relative_error(got, g);
    if (!(error <= worst)) {
      worst = error;
      if (where) *where = name;
    }
    if (!std::isfinite(worst)) break;
  }
  return worst;
}

void compare(PlainRun& run, const BertResult& want, double tolerance) {
  std::string where = "loss";
  const double worst = worst_difference(run, want, &where);
  INFO(where);
  CHECK(worst <= tolerance);
  CHECK(run.buffer("target_count", DType::f64).item<double>() == want.target_count);
}

PlainRun forward_run(PlainRun& train, const BertCase& t, program::Op last) {
  PlainRun run(t.dims, train.graph, program::forward_program(train.program, train.graph, last));
  run.mode = model::Mode::eval;
  for (const auto& group : train.graph.groups)
    run.memory.at("w." + group.name).copy_(train.memory.at("w." + group.name));
  for (const auto& field : train.graph.batch)
    run.memory.at(field.name).copy_(train.memory.at(field.name));
  return run;
}

/// Hidden states of the last layer, from what the last block leaves: norm(norm before(residual) +
/// branch + bias).
at::Tensor hidden_of(PlainRun& run, const BertCase& t) {
  const std::int64_t C = t.dims.hidden_size, last = 2 * t.dims.num_layers - 1;
  const std::string layer = "bert.encoder.layer." + std::to_string(t.dims.num_layers - 1) + ".";
  const auto w = run.parameters("w.", DType::f32);
  auto norm = [&](const at::Tensor& x, const std::string& name) {
    return at::layer_norm(x, {C}, w.at(name + ".weight"), w.at(name + ".bias"),
                          t.dims.layer_norm_epsilon);
  };
  const at::Tensor residual =
                       run.buffer("residual" + std::to_string(last), DType::f32).view({-1, C}),
                   branch = run.buffer("branch" + std::to_string(last), DType::f32).view({-1, C});
  return norm(norm(residual, layer + "attention.output.LayerNorm") + branch +
                  w.at(layer + "output.dense.bias"),
              layer + "output.LayerNorm")
      .view({t.batch, t.length, C});
}

}  // namespace

TEST_CASE("BERT: loss and all gradients equal autograd's in fp32") {
  const BertCase& t = bert_cases().at(GENERATE(range(0, 10)));
  INFO(t.name);
  PlainRun run = make_run(t, DType::f32);
  run.run();
  compare(run, reference_of(run, t), 1e-5);
}

TEST_CASE("BERT: 16-bit floats follow the reference at their weights") {
  const BertCase& t = bert_cases().at(GENERATE(0, 1, 2, 4, 5, 6, 8));
  const DType compute = GENERATE(DType::bf16, DType::f16);
  INFO(t.name << " " << name_of(compute));
  PlainRun run = make_run(t, compute);
  run.run();
  compare(run, reference_of(run, t), compute == DType::f16 ? 1e-2 : 6e-2);
}

TEST_CASE("BERT: the comparison sees another dropout seed, a longer sample, another segment") {
  const BertCase& t = bert_cases().at(GENERATE(2, 5));
  INFO(t.name);
  PlainRun run = make_run(t, DType::f32);
  const auto want = reference_of(run, t);
  SECTION("seed") { run.seed += 1; }
  SECTION("length") { ++run.buffer("lengths", DType::i32).data_ptr<std::int32_t>()[0]; }
  SECTION("segment") { run.buffer("token_types", DType::i32).data_ptr<std::int32_t>()[0] ^= 1; }
  run.run();
  CHECK_FALSE(worst_difference(run, want) <= 1e-4);
}

TEST_CASE("BERT: a second micro-step adds to gradients and sums") {
  const BertCase& t = bert_cases().at(GENERATE(1, 5, 7, 8));
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

TEST_CASE("BERT: samples one by one without padding give what they give together with it") {
  BertCase together = bert_cases().at(GENERATE(1, 2, 5));
  INFO(together.name);
  PlainRun whole = make_run(together, DType::f32);
  whole.run();
  double loss = 0;
  std::map<std::string, at::Tensor> sums;
  for (std::int64_t b = 0; b < together.batch; ++b) {
    BertCase alone = together;
    alone.batch = 1;
    alone.length = together.lengths.at(b);
    alone.lengths = {};
    PlainRun one = make_run(alone, DType::f32);
    for (const auto& field : one.graph.batch) {
      const at::Tensor to = one.memory.at(field.name);
      const std::int64_t each = whole.memory.at(field.name).numel() / together.batch;
      to.copy_(whole.memory.at(field.name).narrow(0, b * each, to.numel()));
    }
    one.buffer("lengths", DType::i32).fill_(alone.length);
    one.run();
    loss += one.buffer("loss_sum", DType::f64).item<double>();
    for (const auto& [name, g] : one.parameters("g.", DType::f32))
      sums[name] = b == 0 ? g.clone() : sums.at(name) + g;
  }
  CHECK(std::abs(loss / whole.buffer("loss_sum", DType::f64).item<double>() - 1) <= 1e-6);
  for (const auto& [name, g] : whole.parameters("g.", DType::f32)) {
    INFO(name);
    if (!name.ends_with("key.bias")) CHECK(relative_error(sums.at(name), g) <= 1e-5);
  }
}

TEST_CASE(
    "BERT: evaluate gives the loss without dropout and the scores, predict the logits, the blocks "
    "before the head the hidden states") {
  const BertCase& t = bert_cases().at(GENERATE(0, 1, 2, 3, 4, 5, 6, 7, 8));
  INFO(t.name);
  PlainRun train = make_run(t, DType::f32);
  BertCase without_dropout = t;
  without_dropout.dims.dropout = 0;
  const auto want = reference_of(train, without_dropout);
  const bool classification = t.dims.task == architectures::Task::classification;
  PlainRun evaluation = forward_run(train, t, program::Op::evaluate);
  evaluation.run();
  CHECK(std::abs(evaluation.buffer("loss_sum", DType::f64).item<double>() - want.loss_sum) <=
        1e-5 * want.loss_sum);
  CHECK(evaluation.buffer("target_count", DType::f64).item<double>() == want.target_count);
  const at::Tensor best = at::argmax(want.logits, -1),
                   targets = classification
                                 ? train.buffer("labels", DType::i32)
                                 : train.buffer("targets", DType::i32).view({t.batch, t.length});
  if (classification) {
    at::Tensor confusion = at::zeros({t.dims.num_labels, t.dims.num_labels}, at::kDouble);
    for (std::int64_t b = 0; b < t.batch; ++b)
      confusion[targets[b].item<int>()][best[b].item<std::int64_t>()] += 1;
    CHECK(evaluation.buffer("confusion", DType::f64).view(confusion.sizes()).equal(confusion));
  } else {
    CHECK(evaluation.buffer("correct", DType::f64).item<double>() ==
          best.eq(targets).sum().item<double>());
  }

  PlainRun prediction = forward_run(train, t, program::Op::predict);
  if (!classification)
    for (std::int64_t b = 0; b < t.batch; ++b)
      prediction.buffer("targets", DType::i32)[b * t.length].fill_((3 + 5 * b) % t.length);
  prediction.run();
  const at::Tensor logits = prediction.buffer("logits", DType::f32).view({t.batch, -1});
  for (std::int64_t b = 0; b < t.batch; ++b) {
    const bool padding = !t.lengths.empty() && (3 + 5 * b) % t.length >= t.lengths.at(b);
    if (classification || !padding)
      CHECK(relative_error(logits[b], classification
                                          ? want.logits[b]
                                          : want.logits[b][(3 + 5 * b) % t.length]) <= 1e-5);
  }
  const at::Tensor hidden = hidden_of(prediction, t);
  for (std::int64_t b = 0; b < t.batch; ++b) {
    const std::int64_t length = t.lengths.empty() ? t.length : t.lengths.at(b);
    CHECK(relative_error(hidden[b].narrow(0, 0, length), want.hidden[b].narrow(0, 0, length)) <=
          1e-5);
  }
}

}  // namespace bert_test
