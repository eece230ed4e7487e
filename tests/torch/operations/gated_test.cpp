// Functions of one number and gated products of them.
#include "torch/operations/double_reference.hpp"
#include "core/error.hpp"
#include "operations/activation/activation.hpp"
#include "operations/gated/gated.hpp"
#include <numbers>

namespace gated_test {

using namespace trainx;
using namespace double_reference;
using operations::Activation;

namespace {

double value(Activation f, double x) {
  switch (f) {
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::relu: return std::max(x, 0.0);
    case Activation::relu_squared: return x > 0 ? x * x : 0;
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

Activation any_activation() {
  return GENERATE(Activation::silu, Activation::relu, Activation::relu_squared,
                  Activation::gelu_tanh, Activation::gelu_erf);
}

/// No value at the bend of a ReLU, where differences say nothing.
at::Tensor off_zero(at::Tensor x) { return x.masked_fill(x.abs() < 1e-3, 0.01); }

}  // namespace

TEST_CASE("functions of one number and their derivatives, also in place") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const Activation f = any_activation();
  const std::int64_t n = GENERATE(1, 2, 33, 1003);
  Operands operands(type);
  INFO(c10::toString(type) << " function " << static_cast<int>(f) << " elements " << n << " seed "
                           << operands.seed());
  const at::Tensor x = off_zero(operands.normal({n}, 3)), dy = operands.normal({n});
  Doubles in = doubles(x), want;
  for (const double v : in) want.push_back(value(f, v));
  const at::Tensor y = operands.empty({n}), same = x.clone();
  operations::activate(f, y, x);
  CHECK(error(y, want) <= operands.tolerance());
  operations::activate(f, same, same);
  CHECK(at::equal(same, y));
  Doubles d;
  for (std::size_t i = 0; i < in.size(); ++i) {
    Doubles one{in[i]};
    d.push_back(slopes(one, [&] { return value(f, one[0]); })[0] * doubles(dy)[i]);
  }
  const at::Tensor dx = operands.empty({n}), over = dy.clone();
  operations::activate_backward(f, dx, {}, dy, x, false);
  CHECK(error(dx, d) <= operands.tolerance());
  operations::activate_backward(f, over, {}, over, x, false);
  CHECK(at::equal(over, dx));
}

TEST_CASE("functions of one number keep their limits, and what is no number stays none") {
  const Activation f = any_activation();
  INFO("function " << static_cast<int>(f));
  const at::Tensor x = at::full({4}, 0, at::kFloat), y = x.clone(), dx = x.clone(),
                   dy = at::full({4}, 1, at::kFloat);
  auto* const v = x.mutable_data_ptr<float>();
  v[0] = 100, v[1] = -100, v[2] = std::numeric_limits<float>::quiet_NaN(), v[3] = -1e4f;
  operations::activate(f, y, x);
  operations::activate_backward(f, dx, {}, dy, x, false);
  const Doubles got = doubles(y), slope = doubles(dx);
  CHECK(got[0] == (f == Activation::relu_squared ? 1e4 : 100));
  CHECK(slope[0] == (f == Activation::relu_squared ? 200 : 1));
  for (const int i : {1, 3}) {
    CHECK(std::abs(got[static_cast<std::size_t>(i)]) < 1e-30);
    CHECK(std::abs(slope[static_cast<std::size_t>(i)]) < 1e-30);
  }
  CHECK(std::isnan(got[2]));
  CHECK(std::isnan(slope[2]));
}

TEST_CASE("no function is none to compute") {
  const at::Tensor x = at::full({4}, 0, at::kFloat), half = at::full({1, 2}, 0, at::kFloat);
  CHECK_THROWS_AS(operations::activate(Activation::none, x, x), InternalError);
  CHECK_THROWS_AS(operations::gated(Activation::none, half, x), InternalError);
}

TEST_CASE("gated products, forward and backward") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const Activation f = any_activation();
  const std::int64_t F = GENERATE(1, 2, 10, 35), N = GENERATE(1, 7);
  Operands operands(type);
  INFO(c10::toString(type) << " function " << static_cast<int>(f) << " rows " << N << " columns "
                           << F << " seed " << operands.seed());
  const at::Tensor x = off_zero(operands.normal({N, 2 * F})), dy = operands.normal({N, F});
  Doubles in = doubles(x);
  const Doubles d = doubles(dy);
  const auto formula = [&] {
    Doubles out;
    for (std::int64_t r = 0; r < N; ++r)
      for (std::int64_t c = 0; c < F; ++c) {
        const auto gate = static_cast<std::size_t>(r * 2 * F + c);
        out.push_back(value(f, in[gate]) * in[gate + static_cast<std::size_t>(F)]);
      }
    return out;
  };
  const at::Tensor y = operands.empty({N, F}), dx = operands.empty({N, 2 * F});
  operations::gated(f, y, x);
  CHECK(error(y, formula()) <= operands.tolerance());
  operations::gated_backward(f, dx, dy, x);
  CHECK(error(dx, slopes(in, [&] { return dot(formula(), d); })) <= operands.tolerance());
}

}  // namespace gated_test
