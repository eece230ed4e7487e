// Losses of real numbers and their gradients against sums of doubles.
#include "torch/operations/double_reference.hpp"
#include "operations/value_loss/value_loss.hpp"

namespace value_loss_test {

using namespace trainx;
using namespace double_reference;
using operations::ValueLossKind;

namespace {

double loss_at(ValueLossKind kind, double x, double target) {
  if (kind == ValueLossKind::squared) return (x - target) * (x - target);
  return target * std::log1p(std::exp(-x)) + (1 - target) * std::log1p(std::exp(x));
}

double slope_at(ValueLossKind kind, double x, double target) {
  if (kind == ValueLossKind::squared) return 2 * (x - target);
  return 1 / (1 + std::exp(-x)) - target;
}

at::Tensor column(const std::vector<float>& values) {
  at::Tensor x = at::full({static_cast<std::int64_t>(values.size()), 1}, 0, at::kFloat);
  std::ranges::copy(values, x.mutable_data_ptr<float>());
  return x;
}

}  // namespace

TEST_CASE("losses of real numbers are means over a row's columns, and rows without target none") {
  const ValueLossKind kind = GENERATE(ValueLossKind::squared, ValueLossKind::binary);
  const std::int64_t rows = GENERATE(1, 5), columns = GENERATE(1, 2, 33);
  const bool adds = GENERATE(false, true), scaled = GENERATE(false, true);
  Operands operands(at::kFloat);
  INFO("kind " << static_cast<int>(kind) << ", " << rows << " x " << columns << " seed "
               << operands.seed());
  const at::Tensor x = operands.normal({rows, columns}, 8), gradient = x.clone();
  at::Tensor targets = operands.normal({rows, columns}, 1).sigmoid();
  const bool lacks = rows > 1;
  if (lacks) targets[1].fill_(std::numeric_limits<float>::quiet_NaN());
  const auto sum_of = [&] { return at::full({1}, 100, at::kDouble); };
  const at::Tensor total = sum_of(), count = sum_of(), total2 = sum_of(), count2 = sum_of();
  operations::value_loss(kind, {{}, total, count, adds}, x, targets);
  const double by = 4;
  const operations::LossSeed seed{.factor = 0.3, .scale = scaled ? &by : nullptr};
  operations::value_loss_with_gradient(kind, {{}, total2, count2, adds}, gradient, targets, seed);
  double sum = 0;
  Doubles slopes;
  const Doubles in = doubles(x), wanted = doubles(targets);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool has = !lacks || static_cast<std::int64_t>(i) / columns != 1;
    const auto n = static_cast<double>(columns);
    sum += has ? loss_at(kind, in[i], wanted[i]) / n : 0;
    slopes.push_back(has ? slope_at(kind, in[i], wanted[i]) / n * 0.3 * (scaled ? 4 : 1) : 0);
  }
  const double begin = adds ? 100 : 0;
  for (const at::Tensor& t : {total, total2})
    CHECK(std::abs(t.item<double>() - begin - sum) <= 1e-9 * (begin + sum));
  for (const at::Tensor& c : {count, count2})
    CHECK(c.item<double>() == begin + static_cast<double>(rows - lacks));
  CHECK(error(gradient, slopes) <= 1e-6);
}

TEST_CASE("the binary cross-entropy of large logits overflows nowhere") {
  const at::Tensor x = column({-1e4F, 1e4F, 1e4F, -1e4F}), gradient = x.clone();
  const at::Tensor targets = column({0, 1, 0, 1});
  const at::Tensor total = at::full({1}, 0, at::kDouble), count = at::full({1}, 0, at::kDouble);
  operations::value_loss_with_gradient(ValueLossKind::binary, {{}, total, count}, gradient, targets,
                                       {});
  CHECK(total.item<double>() == 2e4);
  CHECK(doubles(gradient) == Doubles{0, 0, 1, -1});
}

}  // namespace value_loss_test
