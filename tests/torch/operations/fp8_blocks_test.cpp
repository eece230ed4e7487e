// Casts to e4m3 with scales of 128 elements and of 128 x 128, and products of such operands.
#include "torch/operations/double_reference.hpp"
#include "kernels/quantize/quantize_blocks.hpp"
#include "operations/linear/linear_fp8.hpp"
#include "operations/quantize/quantize.hpp"
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace fp8_blocks_test {

using namespace trainx;
using double_reference::Operands;
using operations::Fp8;
using operations::Fp8Granularity;
using operations::Fp8Tensor;

namespace {

using Doubles = std::vector<double>;

/// The smallest power of two that brings `most` to at most 448, but at least 2^-126.
double scale_of(double most) {
  double scale = std::ldexp(1, -126);
  while (most > 448 * scale) scale *= 2;
  return scale;
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A tensor in fp8 with scales of vectors or blocks, both copies of it.
class Quantized {
 public:
  Quantized(const at::Tensor& x, Fp8Granularity granularity)
      : rows_(x.size(0)), columns_(x.size(1)), granularity_(granularity) {
    by_rows_ = memory(rows_, columns_);
    by_columns_ = memory(columns_, rows_);
    counts_ = at::zeros({operations::fp8_count_kinds}, at::kDouble);
    operations::Fp8Cast how;
    how.counts = Tensor(counts_);
    operations::quantize(tensor(), Tensor(x), how);
  }

  Fp8Tensor tensor() const {
    return {Tensor(by_rows_.values),
            Tensor(by_rows_.scales),
            Fp8::e4m3,
            Tensor(by_columns_.values),
            granularity_,
            Tensor(by_columns_.scales)};
  }
  /// values times scale, by rows and by columns, both [rows, columns].
  Doubles doubles(bool transposed = false) const {
    Doubles out;
    for (std::int64_t r = 0; r < rows_; ++r)
      for (std::int64_t c = 0; c < columns_; ++c)
        out.push_back(transposed ? number(by_columns_, c, r, columns_, rows_)
                                 : number(by_rows_, r, c, rows_, columns_));
    return out;
  }
  double scale(std::int64_t r, std::int64_t c, bool transposed = false) const {
    return transposed ? scale_at(by_columns_, c, r, columns_, rows_)
                      : scale_at(by_rows_, r, c, rows_, columns_);
  }
  const at::Tensor& scales() const { return by_rows_.scales; }
  const at::Tensor& transposed_scales() const { return by_columns_.scales; }
  double count(int k) const { return counts_.const_data_ptr<double>()[k]; }

 private:
  struct Copy {
    at::Tensor values, scales;
  };
  Copy memory(std::int64_t rows, std::int64_t columns) const {
    const auto dims = operations::fp8_scale_type(granularity_, rows, columns).dims;
    return {at::full({rows, columns}, 0x55, at::kByte), at::full(dims, -1, at::kFloat)};
  }
  /// Where cuBLASLt looks for the scale of [r, c].
  double scale_at(const Copy& copy, std::int64_t r, std::int64_t c, std::int64_t rows,
                  std::int64_t columns) const {
    const std::int64_t across = ((columns + 127) / 128 + 3) / 4 * 4,
                       i = granularity_ == Fp8Granularity::vector ? c / 128 * rows + r
                                                                  : r / 128 * across + c / 128;
    return static_cast<double>(copy.scales.const_data_ptr<float>()[i]);
  }
  double number(const Copy& copy, std::int64_t r, std::int64_t c, std::int64_t rows,
                std::int64_t columns) const {
    const std::uint8_t bits = copy.values.const_data_ptr<std::uint8_t>()[r * columns + c];
    return static_cast<double>(operations::widened_fp8<Fp8::e4m3>(bits)) *
           scale_at(copy, r, c, rows, columns);
  }

  std::int64_t rows_, columns_;
  Fp8Granularity granularity_;
  Copy by_rows_, by_columns_;
  at::Tensor counts_;
};

/// Of each element the scale that belongs to it: of those whose rows and columns, by 128 where
/// that is said, are the same.
Doubles scales_of(const Doubles& x, std::int64_t columns, bool rows_by_128, bool columns_by_128) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> most;
  std::vector<double*> of;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t r = static_cast<std::int64_t>(i) / columns,
                       c = static_cast<std::int64_t>(i) % columns;
    double& here = most[{rows_by_128 ? r / 128 : r, columns_by_128 ? c / 128 : c}];
    here = std::max(here, std::abs(x[i]));
    of.push_back(&here);
  }
  for (auto& [of_these, here] : most) here = scale_of(here);
  Doubles out;
  for (const double* scale : of) out.push_back(*scale);
  return out;
}

/// sum |a - b|^2 over elements that are `counted`.
template <class F>
double squared_error(const Doubles& a, const Doubles& b, F counted) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (counted(i)) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

TEST_CASE("scales of blocks are the smallest powers of two that cut nothing") {
  const auto scale = [](float most) {
    return kernels::fp8_block_scale(kernels::bits_of(most), kernels::Fp8Format::e4m3);
  };
  CHECK(scale(448) == 1);
  CHECK(scale(std::nextafter(448.0F, 1e9F)) == 2);
  CHECK(scale(1.75F) == 0x1p-8F);
  CHECK(scale(1) == 0x1p-8F);
  CHECK(scale(0) == 0x1p-126F);
  CHECK(scale(std::numeric_limits<float>::denorm_min()) == 0x1p-126F);
  CHECK(scale(std::numeric_limits<float>::max()) == 0x1p120F);
  CHECK(std::isnan(scale(std::numeric_limits<float>::infinity())));
  CHECK(std::isnan(scale(std::numeric_limits<float>::quiet_NaN())));
  for (std::uint32_t bits = 1; bits < 0x7f800000; bits += 0x10001) {
    const float most = kernels::float_of(bits);
    if (static_cast<double>(scale(most)) != scale_of(static_cast<double>(most)))
      FAIL("bits " << bits << ": " << scale(most));
  }
  CHECK(kernels::fp8_block_scale(kernels::bits_of(57344.0F), kernels::Fp8Format::e5m2) == 1);
}

TEST_CASE("each 128 elements of a row, of a column or 128 x 128 have a scale of their own") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const auto granularity = GENERATE(Fp8Granularity::vector, Fp8Granularity::block);
  const auto [rows, columns] = GENERATE(std::tuple{1, 1}, std::tuple{5, 3}, std::tuple{128, 128},
                                        std::tuple{130, 257}, std::tuple{257, 640});
  Operands operands(type);
  INFO(rows << " x " << columns << " seed " << operands.seed());
  at::Tensor x = operands.normal({rows, columns}, 0.5);
  x.select(0, 0).mul_(100);
  const Quantized q(x, granularity);
  const Doubles exact = double_reference::doubles(x);
  double flushed = 0;
  for (const bool transposed : {false, true}) {
    const Doubles got = q.doubles(transposed);
    const bool block = granularity == Fp8Granularity::block;
    const Doubles scales = scales_of(exact, columns, block || transposed, block || !transposed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const double scale = q.scale(r, c, transposed), want = exact[index(r * columns + c)];
        if (scale != scales[index(r * columns + c)])
          FAIL("scale of " << r << " " << c << ": " << scale << " of "
                           << scales[index(r * columns + c)]);
        const double rounded =
            static_cast<double>(operations::widened_fp8<Fp8::e4m3>(
                operations::rounded_to_fp8<Fp8::e4m3>(static_cast<float>(want / scale)))) *
            scale;
        if (got[index(r * columns + c)] != rounded)
          FAIL("element " << r << " " << c << ": " << got[index(r * columns + c)] << " of "
                          << want);
        flushed += !transposed && want != 0 && rounded == 0;
      }
  }
  // of values alone, once
  CHECK(q.count(kernels::fp8_elements) == static_cast<double>(rows * columns));
  CHECK(q.count(kernels::fp8_flushed) == flushed);
  CHECK(q.count(kernels::fp8_saturated) == 0);
  CHECK(q.count(kernels::fp8_not_finite) == 0);
  // of blocks there are zeros behind the last one of a row, as cuBLASLt wants its rows at 16 bytes
  if (granularity == Fp8Granularity::block)
    for (const auto& [scales, across] : {std::pair{q.scales(), (columns + 127) / 128},
                                         std::pair{q.transposed_scales(), (rows + 127) / 128}})
      for (std::int64_t c = across; c < scales.size(1); ++c)
        CHECK(scales.select(1, c).abs().sum().item<float>() == 0);
}

TEST_CASE("one huge value costs the precision of its own 128 elements, not of the tensor") {
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  const std::int64_t rows = 256, columns = 512, row = 131, column = 300;
  at::Tensor x = operands.normal({rows, columns}, 1);
  x.mutable_data_ptr<float>()[row * columns + column] = 1e6F;
  const Doubles exact = double_reference::doubles(x);
  at::Tensor values = at::empty({rows, columns}, at::kByte), scale = at::empty({1}, at::kFloat);
  operations::quantize({Tensor(values), Tensor(scale), Fp8::e4m3}, Tensor(x));
  Doubles current;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    current.push_back(static_cast<double>(operations::widened_fp8<Fp8::e4m3>(
                          values.const_data_ptr<std::uint8_t>()[i])) *
                      static_cast<double>(scale.item<float>()));
  const Quantized vectors(x, Fp8Granularity::vector), blocks(x, Fp8Granularity::block);
  const auto others = [&](std::size_t i) { return i != index(row * columns + column); };
  const double whole = squared_error(current, exact, others);
  // of 1024 vectors one is lost, of 8 blocks one
  CHECK(squared_error(vectors.doubles(), exact, others) < whole / 200);
  CHECK(squared_error(vectors.doubles(true), exact, others) < whole / 200);
  CHECK(squared_error(blocks.doubles(), exact, others) < whole / 6);
  // what does not share its scale keeps half a step of three mantissa bits
  const Doubles by_rows = vectors.doubles();
  for (std::int64_t i = 0; i < rows * columns; ++i)
    if (i / columns != row &&
        !(std::abs(by_rows[index(i)] - exact[index(i)]) <=
          std::abs(exact[index(i)]) / 16 + vectors.scale(i / columns, i % columns) / 1024))
      FAIL("element " << i << ": " << by_rows[index(i)] << " of " << exact[index(i)]);
}

TEST_CASE("zeros stay zeros with scales of blocks, and what is not finite shows where it is") {
  for (const auto granularity : {Fp8Granularity::vector, Fp8Granularity::block}) {
    const Quantized zeros(at::zeros({3, 130}, at::kFloat), granularity);
    CHECK(zeros.scale(2, 129) == std::ldexp(1, -126));
    for (const double v : zeros.doubles()) CHECK(v == 0);
    CHECK(zeros.count(kernels::fp8_flushed) == 0);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    const std::int64_t rows = 200, columns = 300;
    const at::Tensor x = at::full({rows, columns}, 1, at::kFloat);
    x.mutable_data_ptr<float>()[130 * columns + 5] = bad;
    const Quantized vectors(x, Fp8Granularity::vector), blocks(x, Fp8Granularity::block);
    const Doubles by_rows = vectors.doubles(), by_columns = vectors.doubles(true),
                  squares = blocks.doubles();
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::size_t i = index(r * columns + c);
        if (std::isnan(by_rows[i]) != (r == 130 && c < 128) ||
            std::isnan(by_columns[i]) != (r >= 128 && c == 5) ||
            std::isnan(squares[i]) != (r >= 128 && c < 128))
          FAIL("row " << r << " column " << c);
      }
    CHECK(vectors.count(kernels::fp8_not_finite) == 1);
  }
}

namespace {

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
        sum += a[index(i * of_a.row + l * of_a.column)] * b[index(l * of_b.row + j * of_b.column)];
      c.push_back(sum);
    }
  return c;
}

double relative(const at::Tensor& got, const Doubles& want) {
  const Doubles made = double_reference::doubles(got);
  double most = 0.1, difference = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(made[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(want[i]));
    difference = std::max(difference, std::abs(made[i] - want[i]));
  }
  return difference / most;
}

}  // namespace

TEST_CASE("products of operands with scales of blocks multiply each with its own scale") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const auto [N, in, out] =
      GENERATE(std::tuple{5, 3, 7}, std::tuple{130, 144, 33}, std::tuple{33, 130, 260});
  Operands operands(type);
  INFO(N << " " << in << " " << out << " seed " << operands.seed());
  const bool rounds = type != at::kFloat;
  const double tolerance = rounds ? 1e-2 : 1e-5;
  at::Tensor x = operands.normal({N, in}, 3), w = operands.normal({out, in}, 0.2),
             dy = operands.normal({N, out}, 0.1), bias = operands.normal({out}, 0.1);
  x.select(0, 1).mul_(30);
  dy.select(1, 2).mul_(30);
  const Quantized xq(x, Fp8Granularity::vector), wq(w, Fp8Granularity::block),
      dyq(dy, Fp8Granularity::vector);
  const auto wide = [&](std::int64_t elements) { return operands.empty({elements}, at::kFloat); };

  const at::Tensor y = operands.empty({N, out}),
                   forward_memory = wide(N * in + out * in + rounds * N * out);
  Doubles want = product(xq.doubles(), {in, 1}, wq.doubles(), {1, in}, N, out, in);
  for (std::size_t i = 0; i < want.size(); ++i)
    want[i] += double_reference::doubles(bias)[i % index(out)];
  operations::fp8_linear(Tensor(y), xq.tensor(), wq.tensor(), Tensor(bias), Tensor(forward_memory));
  CHECK(relative(y, want) <= tolerance);

  const at::Tensor dx = operands.empty({N, in}),
                   input_memory = wide(N * out + out * in + rounds * N * in);
  operations::fp8_linear_backward_input(Tensor(dx), dyq.tensor(), wq.tensor(), {},
                                        Tensor(input_memory));
  CHECK(relative(dx, product(dyq.doubles(), {out, 1}, wq.doubles(), {in, 1}, N, in, out)) <=
        tolerance);

  const at::Tensor dw = operands.empty({out, in}, at::kFloat),
                   weight_memory = wide(N * out + N * in);
  want = product(dyq.doubles(true), {1, out}, xq.doubles(true), {in, 1}, out, in, N);
  for (const bool accumulate : {false, true}) {
    operations::fp8_linear_backward_weight(Tensor(dw), dyq.tensor(), xq.tensor(), accumulate,
                                           Tensor(weight_memory));
    CHECK(relative(dw, accumulate ? double_reference::sum(want, want) : want) <= 1e-5);
  }
}

}  // namespace fp8_blocks_test
