// Each operation against ATen's differentiable one in fp64, over sizes below, at and above the
// widths that its loops take at once.
#include "operations/attention/attention.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/embedding/embedding.hpp"
#include "operations/activation/activation.hpp"
#include "operations/common/issued_gemms.hpp"
#include "operations/norm/layer_norm.hpp"
#include "operations/linear/linear.hpp"
#include "operations/norm/residual.hpp"
#include "operations/rows/rows.hpp"
#include "core/error.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <cmath>
#include <limits>
#include <tuple>
#include "support/catch.hpp"

namespace ops_test {

using namespace trainx;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

double error(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor a = got.to(at::kDouble), b = want.to(at::kDouble);
  if (!at::isfinite(a).all().item<bool>()) return std::numeric_limits<double>::infinity();
  const double largest = b.abs().max().item<double>();
  return (a - b).abs().max().item<double>() / (largest > 0 ? largest : 1);
}

at::Tensor normal(at::IntArrayRef dims, at::ScalarType type, std::uint64_t seed) {
  return at::randn(dims, at::detail::createCPUGenerator(seed), at::kDouble).to(type);
}
at::Tensor poisoned(at::IntArrayRef dims, at::ScalarType type) {
  return at::full(dims, not_a_number, type);
}
double tolerance(at::ScalarType type) {
  return type == at::kFloat ? 2e-6 : type == at::kHalf ? 2e-3 : 1.5e-2;
}
at::Tensor leaf(const at::Tensor& t) {
  return t.to(at::kDouble).detach().clone().requires_grad_(true);
}

}  // namespace

TEST_CASE("layer norm, forward and backward") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t columns = GENERATE(1, 15, 16, 65, 128), rows = GENERATE(1, 37);
  INFO(c10::toString(type) << " rows " << rows << " columns " << columns);
  const at::Tensor x = normal({rows, columns}, type, 1) + 3, weight = normal({columns}, type, 2),
                   bias = normal({columns}, type, 3), dy = normal({rows, columns}, type, 4),
                   d_sum = normal({rows, columns}, type, 5);
  const at::Tensor mean = poisoned({rows}, at::kFloat), rstd = poisoned({rows}, at::kFloat),
                   normed = poisoned({rows, columns}, type);
  operations::layer_norm_statistics(mean, rstd, x, 1e-5);
  operations::layer_norm_apply(normed, x, mean, rstd, weight, bias);
  const at::Tensor at_once = x.clone();
  operations::layer_norm(at_once, at_once, weight, bias, 1e-5);
  CHECK(error(at_once, normed.to(at::kDouble)) <= tolerance(type));
  const at::Tensor lx = leaf(x), lw = leaf(weight), lb = leaf(bias);
  const at::Tensor want = at::layer_norm(lx, {columns}, lw, lb, 1e-5);
  CHECK(error(normed, want) <= 10 * tolerance(type));
  want.backward(dy.to(at::kDouble));
  const at::Tensor dx = poisoned({rows, columns}, type), dw = poisoned({columns}, at::kFloat),
                   db = poisoned({columns}, at::kFloat);
  operations::layer_norm_backward(dx, d_sum, dy, x, mean, rstd, weight);
  CHECK(error(dx, lx.grad() + d_sum.to(at::kDouble)) <= 10 * tolerance(type));
  operations::layer_norm_backward(dx, {}, dy, x, mean, rstd, weight);
  if (columns > 1) CHECK(error(dx, lx.grad()) <= 10 * tolerance(type));
  operations::layer_norm_backward_parameters(dw, db, dy, x, mean, rstd, false);
  CHECK(error(db, lb.grad()) <= 1e-5);
  if (columns > 1) CHECK(error(dw, lw.grad()) <= 1e-5);
  operations::layer_norm_backward_parameters(dw, db, dy, x, mean, rstd, true);
  CHECK(error(db, lb.grad() * 2) <= 1e-5);
}

TEST_CASE("both forms of gelu and their derivatives, also far from zero") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const auto f = GENERATE(operations::Activation::gelu_tanh, operations::Activation::gelu_erf);
  at::Tensor x = normal({1003}, type, 1) * 4;
  const float extremes[] = {0, -0.0f, 30, -30, 1000, -1000, 1e-30f, -1e-6f, 5.5f, -5.5f};
  for (int i = 0; i < 10; ++i) x[i].fill_(extremes[i]);
  const at::Tensor dy = normal({1003}, type, 2), y = poisoned({1003}, type), lx = leaf(x);
  operations::activate(f, y, x);
  const at::Tensor want = at::gelu(lx, f == operations::Activation::gelu_erf ? "none" : "tanh");
  want.backward(dy.to(at::kDouble));
  CHECK(error(y.narrow(0, 10, 990), want.narrow(0, 10, 990)) <= tolerance(type));
  CHECK(error(y.narrow(0, 0, 10), want.narrow(0, 0, 10)) <= tolerance(type));
  at::Tensor dx = dy.clone();
  operations::activate_backward(f, dx, {}, dx, x, false);
  CHECK(error(dx, lx.grad()) <= tolerance(type));
}

TEST_CASE("tanh and its derivative, in place") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const at::Tensor x = normal({101}, type, 1) * 3, dy = normal({101}, type, 2), lx = leaf(x),
                   want = at::tanh(lx);
  want.backward(dy.to(at::kDouble));
  const at::Tensor y = x.clone(), dx = dy.clone();
  operations::activate(operations::Activation::tanh, y, y);
  CHECK(error(y, want.detach()) <= tolerance(type));
  operations::activate_backward(operations::Activation::tanh, dx, {}, dx, y, false);
  CHECK(error(dx, lx.grad()) <= 4 * tolerance(type));
}

TEST_CASE(
    "a branch added to the norm of what stands before it, of all rows or of some, and rows put "
    "back") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t columns = GENERATE(16, 65, 1030), rows = 12;
  const bool with_norm = GENERATE(false, true);
  const at::Tensor residual = normal({rows, columns}, type, 1) + 2,
                   branch = normal({rows, columns}, type, 2), bias = normal({columns}, type, 3),
                   weight = normal({columns}, type, 4), shift = normal({columns}, type, 5);
  const std::int64_t positions[] = {7, 8, 9};
  const operations::Dropout dropout{0.25, {42, 3, 1}, positions, 4, 0};
  const at::Tensor factors = poisoned({rows, columns}, at::kFloat);
  const at::Tensor ones = at::full({rows, columns}, 1, at::kFloat);
  operations::drop_out(factors, ones, dropout);
  const at::Tensor before = with_norm ? at::layer_norm(residual.to(at::kDouble), {columns},
                                                       weight.to(at::kDouble),
                                                       shift.to(at::kDouble), 1e-12)
                                      : residual.to(at::kDouble);
  const at::Tensor want = before +
                          (branch.to(at::kDouble) + bias.to(at::kDouble)) * factors.to(at::kDouble);
  const operations::PendingNorm norm = with_norm ? operations::PendingNorm{weight, shift, 1e-12}
                                                 : operations::PendingNorm{};
  const at::Tensor out = poisoned({rows, columns}, type);
  operations::add_branch_to_norm(out, residual, norm, branch, bias, dropout);
  CHECK(error(out, want) <= 2 * tolerance(type));
  at::Tensor some = at::empty({3}, at::kLong);
  for (int i = 0; i < 3; ++i) some[i].fill_(i == 0 ? 11 : i);
  const at::Tensor part = poisoned({3, columns}, type);
  operations::add_branch_to_norm(part, residual, norm, branch, bias, dropout, some);
  CHECK(at::equal(part, out.index_select(0, some)));
  const at::Tensor back = at::zeros({rows, columns}, type);
  operations::scatter_rows(back, part, some);
  CHECK(at::equal(back.index_select(0, some), part));
  CHECK(back[0].eq(0).all().item<bool>());
}

TEST_CASE("operations in one give the bits of those they are made of") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t rows = 12, columns = 65;
  const auto random = [&](std::uint64_t seed) { return normal({rows, columns}, type, seed); };
  const at::Tensor residual = random(1), branch = random(2), bias = normal({columns}, type, 3),
                   weight = normal({columns}, type, 4), shift = normal({columns}, type, 5);
  const std::int64_t positions[] = {7, 8, 9};
  const operations::Dropout dropout{0.25, {42, 3, 1}, positions, 4, 0};
  const at::Tensor norm_weight = normal({columns}, type, 6), norm_bias = normal({columns}, type, 7);
  const operations::PendingNorm norm{norm_weight, norm_bias, 1e-12};
  const at::Tensor some = at::arange(0, rows, 4, at::kLong),
                   d_bias = poisoned({columns}, at::kFloat),
                   want_bias = poisoned({columns}, at::kFloat);

  struct Results {
    at::Tensor sum, mean, rstd, normed;
  };
  const auto results = [&] {
    return Results{poisoned({3, columns}, type), poisoned({3}, at::kFloat),
                   poisoned({3}, at::kFloat), poisoned({3, columns}, type)};
  };
  const Results got = results(), want = results();
  operations::add_branch_layer_norm({got.sum, got.mean, got.rstd, got.normed}, residual, branch,
                                    bias, weight, shift, 1e-12, dropout, norm, some);
  operations::add_branch_to_norm(want.sum, residual, norm, branch, bias, dropout, some);
  operations::layer_norm_statistics(want.mean, want.rstd, want.sum, 1e-12);
  operations::layer_norm_apply(want.normed, want.sum, want.mean, want.rstd, weight, shift);
  CHECK((at::equal(got.sum, want.sum) && at::equal(got.mean, want.mean) &&
         at::equal(got.rstd, want.rstd) && at::equal(got.normed, want.normed)));

  const auto with_bias = [&](auto fused, auto plain) {
    const at::Tensor dx = branch.clone(), want_dx = branch.clone();
    fused(dx);
    plain(want_dx);
    operations::column_sum(want_bias, want_dx, false);
    CHECK((at::equal(dx, want_dx) && at::equal(d_bias, want_bias)));
  };
  for (const auto f : {operations::Activation::gelu_erf, operations::Activation::tanh})
    with_bias(
        [&](const at::Tensor& dx) {
          operations::activate_backward(f, dx, d_bias, dx, residual, false);
        },
        [&](const at::Tensor& dx) {
          operations::activate_backward(f, dx, {}, dx, residual, false);
        });
}

TEST_CASE("rows that have a target, first rows of samples, zeros") {
  const at::Tensor targets = at::full({3, 4}, operations::no_target, at::kInt),
                   rows = at::full({12}, -7, at::kLong), row_targets = at::full({12}, -7, at::kInt);
  CHECK(operations::select_targets(rows, row_targets, targets) == 0);
  for (const auto& [row, target] : {std::pair{0, 5}, {6, 0}, {11, 9}})
    targets.view({-1})[row].fill_(target);
  CHECK(operations::select_targets(rows, row_targets, targets) == 3);
  for (const auto& [k, row, target] : {std::tuple{0, 0, 5}, {1, 6, 0}, {2, 11, 9}})
    CHECK((rows[k].item<int>() == row && row_targets[k].item<int>() == target));
  const Tensor all = rows;
  operations::first_rows(all.narrow(0, 0, 3), 4);
  for (int b = 0; b < 3; ++b) CHECK(rows[b].item<int>() == 4 * b);
  const at::Tensor x = poisoned({3, 5}, GENERATE(at::kFloat, at::kBFloat16, at::kDouble));
  operations::clear(x);
  CHECK(x.eq(0).all().item<bool>());
}

TEST_CASE(
    "predictions are counted by label and where they are right, rows without target nowhere") {
  const std::int64_t R = 7, V = 3;
  const at::Tensor logits = normal({R, 8}, at::kFloat, 1), row_loss = poisoned({R}, at::kFloat);
  logits[1][0].fill_(9), logits[1][1].fill_(9);  // the first of equals
  logits[2][7].fill_(99);                        // beyond the classes
  const std::int32_t targets[] = {0, 0, 1, 2, operations::no_target, 2, 1};
  const auto sum = [](at::IntArrayRef dims) { return at::full(dims, not_a_number, at::kDouble); };
  const at::Tensor confusion = sum({V, V}), correct = sum({1}),
                   predictions = at::full({R}, -7, at::kInt);
  const at::Tensor loss_sum = sum({1}), target_count = sum({1});
  operations::LossTo to{row_loss, loss_sum, target_count};
  at::Tensor want = at::zeros({V, V}, at::kDouble);
  for (std::int64_t r = 0; r < R; ++r)
    if (targets[r] != operations::no_target)
      want[targets[r]][logits[r].narrow(0, 0, V).argmax().item<std::int64_t>()] += 1;
  for (const bool accumulate : {false, true}) {
    to.accumulate = accumulate;
    operations::scored_cross_entropy(to, {predictions, correct, confusion}, logits, targets, V);
    const double times = accumulate ? 2 : 1;
    CHECK(at::equal(confusion, want * times));
    CHECK(correct.item<double>() == times * want.trace().item<double>());
    CHECK(target_count.item<double>() == 6 * times);
  }
  CHECK(predictions[1].item<int>() == 0);
  const at::Tensor plain = sum({1}), count = sum({1});
  operations::summed_cross_entropy({row_loss, plain, count}, logits, targets, V);
  CHECK(std::abs(loss_sum.item<double>() - 2 * plain.item<double>()) <=
        1e-12 * plain.item<double>());
}

TEST_CASE("the sum of three embeddings, and the token that learns nothing") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t B = 3, T = 5, C = 40, V = 11;
  const at::Tensor word = normal({V, C}, type, 1), position = normal({9, C}, type, 2),
                   segment = normal({2, C}, type, 3);
  const at::Tensor tokens = at::randint(V, {B, T}, at::detail::createCPUGenerator(2), at::kInt),
                   types = at::randint(2, {B, T}, at::detail::createCPUGenerator(3), at::kInt);
  tokens[1][2].fill_(4);
  const at::Tensor out = poisoned({B * T, C}, type), flat = tokens.flatten().to(at::kLong);
  operations::segment_embedding(out, tokens, types, word, position, segment);
  const at::Tensor want = word.to(at::kDouble).index_select(0, flat) +
                          position.to(at::kDouble).narrow(0, 0, T).repeat({B, 1}) +
                          segment.to(at::kDouble).index_select(0, types.flatten().to(at::kLong));
  CHECK(error(out, want) <= tolerance(type));
  const at::Tensor d = normal({B * T, C}, type, 4), d_word = poisoned({V, C}, at::kFloat);
  operations::embedding_backward_tokens(d_word, d, tokens, false, 4);
  at::Tensor sums = at::zeros({V, C}, at::kDouble).index_add(0, flat, d.to(at::kDouble));
  sums[4].zero_();
  CHECK(error(d_word, sums) <= 1e-6);
  types[0][0].fill_(2);
  CHECK_THROWS_AS(operations::segment_embedding(out, tokens, types, word, position, segment),
                  InternalError);
}

TEST_CASE("linear layers: overwritten, added to, fp32 gradients of bf16 operands") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const at::Tensor x = normal({33, 20}, type, 1), w = normal({7, 20}, type, 2),
                   b = normal({7}, type, 3), dy = normal({33, 7}, type, 4);
  const at::Tensor X = x.to(at::kDouble), W = w.to(at::kDouble), D = dy.to(at::kDouble);
  const at::Tensor y = poisoned({33, 7}, type), dx = poisoned({33, 20}, type),
                   dw = poisoned({7, 20}, at::kFloat), cast = poisoned({33 * 27}, at::kFloat);
  operations::IssuedGemms issued;
  operations::linear(y, x, w);
  CHECK(error(y, X.matmul(W.t())) <= tolerance(type));
  operations::linear(y, x, w, b);
  CHECK(error(y, X.matmul(W.t()) + b.to(at::kDouble)) <= tolerance(type));
  operations::linear_backward_input(dx, dy, w);
  CHECK(error(dx, D.matmul(W)) <= tolerance(type));
  const at::Tensor sum = normal({33, 20}, type, 5), added = sum.clone();
  operations::linear_backward_input(dx, dy, w, sum);
  CHECK(error(dx, D.matmul(W) + sum.to(at::kDouble)) <= tolerance(type));
  operations::linear_backward_input(added, dy, w, added);
  CHECK(at::equal(added, dx));
  operations::linear_backward_weight(dw, dy, x, false, cast);
  CHECK(error(dw, D.t().matmul(X)) <= 2e-6);
  operations::linear_backward_weight(dw, dy, x, true, cast);
  CHECK(error(dw, D.t().matmul(X) * 2) <= 2e-6);
  CHECK(issued.gemms.size() == 7);
  CHECK((issued.gemms.back().m == 7 && issued.gemms.back().n == 20 && issued.gemms.back().k == 33));
  if (type == at::kBFloat16)
    CHECK_THROWS_AS(operations::linear_backward_weight(dw, dy, x, true), InternalError);
}

TEST_CASE("column sums") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t columns = GENERATE(1, 63, 64, 65, 200);
  const at::Tensor x = normal({50, columns}, type, 1), sums = poisoned({columns}, at::kFloat);
  operations::column_sum(sums, x, false);
  CHECK(error(sums, x.to(at::kDouble).sum(0)) <= 1e-5);
  operations::column_sum(sums, x, true);
  CHECK(error(sums, x.to(at::kDouble).sum(0) * 2) <= 1e-5);
}

TEST_CASE("cross-entropy over the real vocabulary, with gradient") {
  const std::int64_t V = GENERATE(1, 5, 255, 256, 257, 1000), padded = (V + 127) / 128 * 128,
                     rows = 9;
  INFO("vocabulary " << V);
  at::Tensor logits = normal({rows, padded}, at::kFloat, 1) * 5;
  logits.narrow(1, V, padded - V).fill_(50);  // padding must not take part
  logits[1].narrow(0, 0, V).add_(200);        // far from zero
  if (V > 2) logits[2][1].fill_(-std::numeric_limits<float>::infinity());
  const at::Tensor targets = at::randint(V, {rows}, at::detail::createCPUGenerator(2), at::kInt);
  targets[0].fill_(operations::no_target);
  targets[2].fill_(0);
  const at::Tensor lx = leaf(logits),
                   want = at::cross_entropy_loss(lx.narrow(1, 0, V), targets.to(at::kLong), {}, 0,
                                                 operations::no_target);
  const at::Tensor loss = poisoned({rows}, at::kFloat);
  operations::cross_entropy(loss, logits, targets.const_data_ptr<std::int32_t>(), V);
  CHECK(error(loss, want.detach()) <= 1e-6);
  (want.sum() * 0.125).backward();
  loss.fill_(not_a_number);
  operations::cross_entropy_with_gradient(loss, logits, targets.const_data_ptr<std::int32_t>(), V,
                                          0.125);
  CHECK(error(loss, want.detach()) <= 1e-6);
  CHECK((logits.to(at::kDouble) - lx.grad()).abs().max().item<double>() <= 0.125 * 1e-6);
  targets[3].fill_(static_cast<int>(V));
  CHECK_THROWS_AS(
      operations::cross_entropy(loss, logits, targets.const_data_ptr<std::int32_t>(), V),
      InternalError);
}

TEST_CASE("cross-entropy does not hide what is not finite") {
  for (float bad : {not_a_number, std::numeric_limits<float>::infinity()}) {
    const at::Tensor logits = at::zeros({1, 128}), loss = at::zeros({1});
    logits[0][3].fill_(bad);
    const std::int32_t target = 1;
    operations::cross_entropy(loss, logits, &target, 100);
    CHECK_FALSE(std::isfinite(loss.item<float>()));
    operations::cross_entropy_with_gradient(loss, logits, &target, 100, 1);
    CHECK_FALSE(std::isfinite(loss.item<float>()));
    CHECK_FALSE(at::isfinite(logits).all().item<bool>());
  }
}

TEST_CASE("dropout keeps the share it should, repeats, and adds a branch") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t columns = GENERATE(64, 100, 1031);
  const std::int64_t positions[] = {7, std::int64_t{1} << 40};
  const operations::Dropout dropout{0.3, {42, 3, 0}, positions, 50, 0};
  const at::Tensor ones = at::full({100, columns}, 1, type), out = poisoned({100, columns}, type);
  operations::drop_out(out, ones, dropout);
  const double dropped = out.to(at::kDouble).eq(0).sum().item<double>() /
                         static_cast<double>(out.numel());
  CHECK(std::abs(dropped - 0.3) < 4 * std::sqrt(0.21 / static_cast<double>(out.numel())));
  CHECK(std::abs(out.to(at::kDouble).max().item<double>() - 1 / 0.7) < 1e-2);
  CHECK_FALSE(at::equal(out.narrow(0, 0, 50), out.narrow(0, 50, 50)));  // samples differ

  const at::Tensor zero = at::zeros({100, columns}, type), bias = at::full({columns}, 0.5, type),
                   half = at::full({100, columns}, 0.5, type), sum = poisoned({100, columns}, type);
  operations::add_branch(sum, zero, half, bias, dropout);
  CHECK(at::equal(sum, out));           // 0 + (0.5 + 0.5) * factor
  operations::Dropout later = dropout;  // operands that begin at row 30 see the same factors
  later.first_row = 30;
  const at::Tensor tail = poisoned({70, columns}, type);
  const Tensor zeros = zero, halves = half;
  operations::add_branch(tail, zeros.narrow(0, 0, 70), halves.narrow(0, 0, 70), bias, later);
  CHECK(at::equal(tail, out.narrow(0, 30, 70)));
  operations::add_branch(sum, half, half, bias, {});
  CHECK(at::equal(sum, at::full({100, columns}, 1.5, type)));
}

}  // namespace ops_test
