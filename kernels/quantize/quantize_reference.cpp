#include "kernels/activation/gated.hpp"
#include "kernels/activation/pointwise.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/quantize/quantize_blocks.hpp"
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainx::kernels {
namespace {

template <class Op, class T = std::remove_cvref_t<decltype(*std::declval<Op>().x)>>
std::vector<T> elements_of(const Op& op) {
  const std::int64_t n = op.rows * op.columns;
  std::vector<T> made(static_cast<std::size_t>(n));
  const auto gelu = [&](ActivationKind kind) { pointwise_reference(made.data(), op.x, n, kind); };
  const auto gelu_gradient = [&](ActivationKind kind) {
    pointwise_backward_reference(
        PointwiseBackward<T>{op.rows, op.columns, op.x, op.pre, made.data(), nullptr, false}, kind);
  };
  const auto gate = [&](ActivationKind kind) {
    gated_reference(Gated<T>{op.rows, op.columns, op.x, made.data()}, kind);
  };
  const auto gate_gradient = [&](ActivationKind kind) {
    gated_backward_reference(GatedBackward<T>{op.rows, op.columns / 2, op.x, op.pre, made.data()},
                             kind);
  };
  switch (op.source) {
    case Fp8Source::plain: made.assign(op.x, op.x + n); break;
    case Fp8Source::gelu_tanh: gelu(ActivationKind::gelu_tanh); break;
    case Fp8Source::gelu_erf: gelu(ActivationKind::gelu_erf); break;
    case Fp8Source::gated_silu: gate(ActivationKind::silu); break;
    case Fp8Source::gated_gelu_tanh: gate(ActivationKind::gelu_tanh); break;
    case Fp8Source::gated_silu_gradient: gate_gradient(ActivationKind::silu); break;
    case Fp8Source::gated_gelu_tanh_gradient: gate_gradient(ActivationKind::gelu_tanh); break;
    case Fp8Source::gelu_tanh_gradient: gelu_gradient(ActivationKind::gelu_tanh); break;
    case Fp8Source::gelu_erf_gradient: gelu_gradient(ActivationKind::gelu_erf); break;
  }
  return made;
}

template <Fp8Format format, class T>
void cast_to_fp8(const Quantization<T>& op, const std::vector<float>& x) {
  const float inverse = fp8_inverse(*op.scale);
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const float element = x[static_cast<std::size_t>(r * op.columns + c)];
      const std::uint8_t made = scaled_fp8<format>(element, inverse);
      if (op.values) op.values[r * op.columns + c] = made;
      if (op.transposed) op.transposed[c * op.rows + r] = made;
      if (!op.counts) continue;
      const bool finite = std::isfinite(element);
      op.counts[fp8_elements] += 1;
      op.counts[fp8_flushed] += element != 0 && (made & 0x7f) == 0;
      op.counts[fp8_saturated] += finite && std::abs(product(element, inverse)) > fp8_limit(format);
      op.counts[fp8_not_finite] += !finite;
    }
}

template <class Op, class T>
void sum_columns(const Op& op, const std::vector<T>& x) {
  for (std::int64_t c = 0; op.column_sums && c < op.columns; ++c) {
    double sum = op.accumulate ? static_cast<double>(op.column_sums[c]) : 0;
    for (std::int64_t r = 0; r < op.rows; ++r)
      sum += static_cast<double>(widened(x[static_cast<std::size_t>(r * op.columns + c)]));
    op.column_sums[c] = static_cast<float>(sum);
  }
}

template <class T>
void quantize_on_host(const Quantization<T>& op) {
  std::vector<float> x(static_cast<std::size_t>(op.rows * op.columns));
  std::uint32_t most = 0;
  const std::vector<T> made = elements_of(op);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = widened(made[i]);
    most = std::max(most, bits_of(x[i]) & 0x7fffffffu);
  }
  if (!op.scale_is_made)
    *op.scale = op.known && *op.known > 0 ? fp8_scale_of_range(*op.known, op.format)
                                          : fp8_scale(most, op.format);
  if (op.exponents && most > 0) op.exponents[fp8_exponent(most)] += 1;
  if (op.format == Fp8Format::e4m3)
    cast_to_fp8<Fp8Format::e4m3>(op, x);
  else
    cast_to_fp8<Fp8Format::e5m2>(op, x);
  sum_columns(op, x);
}

template <class T>
void quantize_blocks_on_host(BlockQuantization<T> op) {
  const std::vector<T> made = elements_of(op);
  op.x = made.data();
  for (std::int64_t down = 0; down < fp8_blocks(op.rows); ++down)
    for (std::int64_t across = 0; across < fp8_blocks(op.columns); ++across) {
      const Fp8TileCounts counts = quantize_tile(op, down, across);
      if (!op.counts) continue;
      op.counts[fp8_flushed] += static_cast<double>(counts.flushed);
      op.counts[fp8_not_finite] += static_cast<double>(counts.not_finite);
    }
  if (op.counts) op.counts[fp8_elements] += static_cast<double>(op.rows * op.columns);
  sum_columns(op, made);
}

}  // namespace

void quantize_reference(const Quantization<float>& op) { quantize_on_host(op); }
void quantize_reference(const Quantization<Bf16>& op) { quantize_on_host(op); }
void quantize_reference(const Quantization<Fp16>& op) { quantize_on_host(op); }

void quantize_blocks_reference(const BlockQuantization<float>& op) { quantize_blocks_on_host(op); }
void quantize_blocks_reference(const BlockQuantization<Bf16>& op) { quantize_blocks_on_host(op); }
void quantize_blocks_reference(const BlockQuantization<Fp16>& op) { quantize_blocks_on_host(op); }

}  // namespace trainx::kernels
