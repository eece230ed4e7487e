// Casts to fp8 against all of its values written out, and products against those of doubles.
#include "torch/operations/double_reference.hpp"
#include "core/error.hpp"
#include "operations/linear/linear_fp8.hpp"
#include "operations/quantize/quantize.hpp"
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>
#include <tuple>

namespace fp8_test {

using namespace trainx;
using namespace double_reference;
using operations::Fp8;
using operations::Fp8Tensor;

namespace {

struct Format {
  Fp8 fp8;
  int exponent_bits, mantissa_bits, bias, finite;  // finite: bits of the largest value
};
constexpr Format e4m3{Fp8::e4m3, 4, 3, 7, 0x7e}, e5m2{Fp8::e5m2, 5, 2, 15, 0x7b};

/// By the definition of the formats, in doubles.
double value_of(const Format& f, int bits) {
  const int exponent = (bits & 0x7f) >> f.mantissa_bits;
  const double mantissa = std::ldexp(bits & ((1 << f.mantissa_bits) - 1), -f.mantissa_bits);
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - f.bias)
                                         : std::ldexp(1 + mantissa, exponent - f.bias);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

int round_to(const Format& f, float x) {
  return f.fp8 == Fp8::e4m3 ? operations::rounded_to_fp8<Fp8::e4m3>(x)
                            : operations::rounded_to_fp8<Fp8::e5m2>(x);
}
float number(const Format& f, int bits) {
  const auto b = static_cast<std::uint8_t>(bits);
  return f.fp8 == Fp8::e4m3 ? operations::widened_fp8<Fp8::e4m3>(b)
                            : operations::widened_fp8<Fp8::e5m2>(b);
}
/// LibTorch's cast, which does not saturate.
int torch_bits(const Format& f, float x) {
  return f.fp8 == Fp8::e4m3 ? c10::Float8_e4m3fn(x).x : c10::Float8_e5m2(x).x;
}

/// The nearest of all finite values; of two as near the one with even bits.
int nearest(const Format& f, double x) {
  int best = 0;
  for (int bits = 0; bits <= f.finite; ++bits) {
    const double now = std::abs(value_of(f, bits) - std::abs(x)),
                 least = std::abs(value_of(f, best) - std::abs(x));
    if (now < least || (now == least && bits % 2 == 0)) best = bits;
  }
  return std::signbit(x) ? best | 0x80 : best;
}

float between(double a, double b) { return static_cast<float>((a + b) / 2); }

/// A tensor in fp8 that owns its memory, and its numbers as doubles.
class Quantized {
 public:
  Quantized(const at::Tensor& x, Fp8 format)
      : values_(at::empty(x.sizes(), at::kByte)),
        scale_(at::zeros({1}, at::kFloat)),
        format_(format) {
    operations::quantize(tensor(), Tensor(x));
  }

  Fp8Tensor tensor() const { return {Tensor(values_), Tensor(scale_), format_}; }
  double scale() const { return *scale_.const_data_ptr<float>(); }
  std::vector<int> bits() const {
    const auto* v = values_.const_data_ptr<std::uint8_t>();
    return {v, v + values_.numel()};
  }
  /// values times scale.
  Doubles doubles() const {
    Doubles out;
    for (const int b : bits()) out.push_back(value_of(format(), b) * scale());
    return out;
  }
  Format format() const { return format_ == Fp8::e4m3 ? e4m3 : e5m2; }

 private:
  at::Tensor values_, scale_;
  Fp8 format_;
};

/// c[m, n] = a[m, k] b[k, n], each read with those strides.
struct Strides {
  std::int64_t row, column;
};
Doubles product(const Doubles& a, Strides of_a, const Doubles& b, Strides of_b, std::int64_t m,
                std::int64_t n, std::int64_t k) {
  Doubles c;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += a[static_cast<std::size_t>(i * of_a.row + l * of_a.column)] *
               b[static_cast<std::size_t>(l * of_b.row + j * of_b.column)];
      c.push_back(sum);
    }
  return c;
}

/// The largest difference by the largest wanted value, or by 0.1 if those are smaller: what is left
/// of larger ones that cancel.
double relative(const at::Tensor& got, const Doubles& want) {
  const Doubles made = doubles(got);
  double most = 0.1, difference = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(made[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(want[i]));
    difference = std::max(difference, std::abs(made[i] - want[i]));
  }
  return difference / most;
}

}  // namespace

TEST_CASE("the numbers of fp8 are those of the formats' definitions") {
  const Format f = GENERATE(e4m3, e5m2);
  CHECK(operations::largest(f.fp8) == (f.fp8 == Fp8::e4m3 ? 448.0F : 57344.0F));
  CHECK(value_of(f, f.finite) == operations::largest(f.fp8));
  for (int bits = 0; bits < 256; ++bits) {
    INFO("bits " << bits);
    const float got = number(f, bits);
    if ((bits & 0x7f) <= f.finite) {
      CHECK(got == value_of(f, bits));
      CHECK(std::signbit(got) == (bits >= 0x80));
      CHECK(round_to(f, got) == bits);
    } else if (f.fp8 == Fp8::e5m2 && (bits & 0x7f) == 0x7c) {
      CHECK(std::isinf(got));
    } else {
      CHECK(std::isnan(got));
    }
  }
}

TEST_CASE("casts to fp8 round to nearest, ties to even, and saturate") {
  const Format f = GENERATE(e4m3, e5m2);
  for (int bits = 0; bits < f.finite; ++bits) {
    const float tie = between(value_of(f, bits), value_of(f, bits + 1));
    for (const float sign : {1.0F, -1.0F})
      for (const float x : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, 1e9F)}) {
        INFO("bits " << bits << " x " << sign * x);
        CHECK(round_to(f, sign * x) == nearest(f, sign * x));
        CHECK(round_to(f, sign * x) == torch_bits(f, sign * x));
      }
  }
  const float most = operations::largest(f.fp8);
  for (const float x : {std::nextafter(most, 1e9F), most * 1.03F, most * 1.07F, most * 2, 3e38F,
                        std::numeric_limits<float>::infinity()}) {
    CHECK(round_to(f, x) == f.finite);
    CHECK(round_to(f, -x) == (f.finite | 0x80));
  }
  CHECK(std::isnan(number(f, round_to(f, std::numeric_limits<float>::quiet_NaN()))));
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  for (const double spread : {1e-3, 1.0, 100.0})
    for (const double x : doubles(operands.normal({500}, spread)))
      CHECK(round_to(f, static_cast<float>(x)) == nearest(f, x));
}

TEST_CASE("a tensor's scale makes its largest value the largest of fp8") {
  const Format f = GENERATE(e4m3, e5m2);
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const double spread = GENERATE(1e-4, 1.0, 300.0);
  Operands operands(type);
  INFO("spread " << spread << " seed " << operands.seed());
  const at::Tensor x = operands.normal({13, 37}, spread);
  const Quantized q(x, f.fp8);
  const Doubles exact = doubles(x);
  double most = 0;
  for (const double v : exact) most = std::max(most, std::abs(v));
  CHECK(q.scale() == static_cast<float>(most) / operations::largest(f.fp8));
  int largest_bits = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const int bits = q.bits()[i];
    largest_bits = std::max(largest_bits, bits & 0x7f);
    CHECK(bits == nearest(f, static_cast<float>(exact[i]) * (1 / static_cast<float>(q.scale()))));
    // half a unit of the mantissa, or of the smallest number
    CHECK(std::abs(q.doubles()[i] - exact[i]) <=
          1.0001 * std::max(std::abs(exact[i]) * std::ldexp(0.5, -f.mantissa_bits),
                            q.scale() * std::ldexp(0.5, 1 - f.bias - f.mantissa_bits)));
  }
  CHECK(largest_bits == f.finite);
}

TEST_CASE("zeros stay zeros in fp8, and what is not finite shows") {
  const Format f = GENERATE(e4m3, e5m2);
  const Quantized zeros(at::zeros({5}, at::kFloat), f.fp8);
  CHECK(zeros.scale() == std::numeric_limits<float>::min());
  CHECK(zeros.bits() == std::vector<int>(5, 0));
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const at::Tensor x = at::full({5}, 1, at::kFloat);
    x.mutable_data_ptr<float>()[2] = -bad;
    CHECK(std::isnan(Quantized(x, f.fp8).scale()));
  }
  // a scale above zero for the smallest numbers that there are
  const Quantized tiny(at::full({5}, 1e-44, at::kFloat), f.fp8);
  CHECK(tiny.scale() > 0);
  CHECK(std::isfinite(tiny.doubles().front()));
}

TEST_CASE("a linear layer's products in fp8 are those of its quantized operands") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const auto [N, in, out] =
      GENERATE(std::tuple{1, 1, 1}, std::tuple{5, 3, 7}, std::tuple{33, 65, 17});
  Operands operands(type);
  INFO(N << " " << in << " " << out << " seed " << operands.seed());
  const bool rounds = type != at::kFloat;
  const double tolerance = type == at::kFloat ? 1e-5 : type == at::kHalf ? 2e-3 : 1e-2;
  const at::Tensor x = operands.normal({N, in}, 3), w = operands.normal({out, in}, 0.2),
                   dy = operands.normal({N, out}, 0.1), bias = operands.normal({out}, 0.1),
                   sum = operands.normal({N, in}, 0.01);
  const Quantized xq(x, Fp8::e4m3), wq(w, Fp8::e4m3), dyq(dy, Fp8::e5m2);
  const auto wide = [&](std::int64_t elements) { return operands.empty({elements}, at::kFloat); };

  const at::Tensor y = operands.empty({N, out}),
                   forward_memory = wide(N * in + out * in + rounds * N * out);
  Doubles want = product(xq.doubles(), {in, 1}, wq.doubles(), {1, in}, N, out, in);
  operations::fp8_linear(Tensor(y), xq.tensor(), wq.tensor(), {}, Tensor(forward_memory));
  CHECK(relative(y, want) <= tolerance);
  for (std::size_t i = 0; i < want.size(); ++i)
    want[i] += doubles(bias)[i % static_cast<std::size_t>(out)];
  operations::fp8_linear(Tensor(y), xq.tensor(), wq.tensor(), Tensor(bias), Tensor(forward_memory));
  CHECK(relative(y, want) <= tolerance);
  const at::Tensor short_memory = wide(forward_memory.numel() - 1);
  CHECK_THROWS_AS(
      operations::fp8_linear(Tensor(y), xq.tensor(), wq.tensor(), {}, Tensor(short_memory)),
      InternalError);

  const at::Tensor dx = operands.empty({N, in}),
                   input_memory = wide(N * out + out * in + rounds * N * in);
  want = product(dyq.doubles(), {out, 1}, wq.doubles(), {in, 1}, N, in, out);
  operations::fp8_linear_backward_input(Tensor(dx), dyq.tensor(), wq.tensor(), {},
                                        Tensor(input_memory));
  CHECK(relative(dx, want) <= tolerance);
  const at::Tensor over = sum.clone();
  operations::fp8_linear_backward_input(Tensor(over), dyq.tensor(), wq.tensor(), Tensor(over),
                                        Tensor(input_memory));
  CHECK(relative(over, double_reference::sum(want, doubles(sum))) <= tolerance);

  // in fp32, whatever is computed in
  const at::Tensor dw = operands.empty({out, in}, at::kFloat),
                   weight_memory = wide(N * out + N * in);
  want = product(dyq.doubles(), {1, out}, xq.doubles(), {in, 1}, out, in, N);
  operations::fp8_linear_backward_weight(Tensor(dw), dyq.tensor(), xq.tensor(), false,
                                         Tensor(weight_memory));
  CHECK(relative(dw, want) <= 1e-5);
  operations::fp8_linear_backward_weight(Tensor(dw), dyq.tensor(), xq.tensor(), true,
                                         Tensor(weight_memory));
  CHECK(relative(dw, double_reference::sum(want, want)) <= 1e-5);
}

}  // namespace fp8_test
