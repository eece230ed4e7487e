#include "kernels/quantize/quantize.hpp"
#include "kernels/quantize/quantize_blocks.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/quantize/quantize_backends.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace trainx::operations {
namespace {

constexpr std::int64_t quantize_grain = 16384;
constexpr std::uint32_t infinity_bits = 0x7f800000;

/// Of the largest magnitude. NaNs have larger bits than infinity, which has larger ones than all
/// numbers.
template <class T>
std::uint32_t largest_bits(const T* x, std::int64_t n) {
  return tensor::parallel_reduce(
      0, n, quantize_grain, std::uint32_t{0},
      [&](std::int64_t begin, std::int64_t end, std::uint32_t most) {
        for (std::int64_t i = begin; i < end; ++i)
          most = std::max(most, std::bit_cast<std::uint32_t>(load(x[i])) & 0x7fffffff);
        return most;
      },
      [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
}

float scale_of(std::uint32_t largest_magnitude, Fp8 format) {
  if (largest_magnitude >= infinity_bits) return std::numeric_limits<float>::quiet_NaN();
  return std::max(std::bit_cast<float>(largest_magnitude) / largest(format),
                  std::numeric_limits<float>::min());
}

static_assert(fp8_count_kinds == kernels::fp8_counts);

/// What becomes of elements, as kernels::Fp8Count names it.
using Counts = std::array<double, kernels::fp8_counts>;

/// By loops that compilers turn into vectors: of numbers, with a scale that is one.
template <Fp8 format, class T>
void round_numbers(std::uint8_t* to, const T* x, std::int64_t n, float inverse) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = rounded_to_fp8<format>(load(x[i]) * inverse);
}
template <Fp8 format, class T>
void round_any(std::uint8_t* to, const T* x, std::int64_t n, float inverse) {
  constexpr auto as = format == Fp8::e4m3 ? kernels::Fp8Format::e4m3 : kernels::Fp8Format::e5m2;
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = kernels::scaled_fp8<as>(static_cast<float>(load(x[i])), inverse);
}
template <Fp8 format, class T>
Counts count(const std::uint8_t* made, const T* x, std::int64_t n, float inverse) {
  constexpr float limit =
      kernels::fp8_limit(format == Fp8::e4m3 ? kernels::Fp8Format::e4m3 : kernels::Fp8Format::e5m2);
  std::int64_t flushed = 0, saturated = 0, not_finite = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = load(x[i]);
    const bool finite = (std::bit_cast<std::uint32_t>(value) & 0x7fffffff) < infinity_bits;
    flushed += value != 0 && (made[i] & 0x7f) == 0;
    saturated += finite && std::abs(value * inverse) > limit;
    not_finite += !finite;
  }
  return {static_cast<double>(n), static_cast<double>(flushed), static_cast<double>(saturated),
          static_cast<double>(not_finite)};
}

template <Fp8 format, class T>
void round_all(std::uint8_t* to, const T* x, std::int64_t n, float scale, bool all_finite,
               const Tensor& counts) {
  const float inverse = 1 / scale;
  const Counts sums = tensor::parallel_reduce(
      0, n, quantize_grain, Counts{},
      [&](std::int64_t begin, std::int64_t end, Counts sum) {
        if (all_finite)
          round_numbers<format>(to + begin, x + begin, end - begin, inverse);
        else
          round_any<format>(to + begin, x + begin, end - begin, inverse);
        if (!counts.defined()) return sum;
        const Counts more = count<format>(to + begin, x + begin, end - begin, inverse);
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += more[k];
        return sum;
      },
      [](Counts a, const Counts& b) {
        for (std::size_t k = 0; k < a.size(); ++k) a[k] += b[k];
        return a;
      });
  for (std::size_t k = 0; counts.defined() && k < sums.size(); ++k)
    counts.as<double>()[k] += sums[k];
}

template <Fp8 format>
void widen_all(float* to, const std::uint8_t* values, std::int64_t n) {
  static constexpr std::array<float, 256> numbers = fp8_numbers<format>();
  tensor::parallel_for(0, n, quantize_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = numbers[values[i]];
  });
}

/// InternalError unless `t` has n elements without gaps.
void require_host_elements(const Tensor& t, DType dtype, std::int64_t n) {
  if (t.dtype != dtype || t.numel() != n || !t.is_contiguous())
    throw InternalError("quantize: an operand of another type or size");
}

/// InternalError unless `t` has the scales of x[rows, columns].
void require_scales(const Tensor& t, Fp8Granularity granularity, std::int64_t rows,
                    std::int64_t columns) {
  require_host_elements(t, DType::f32,
                        kernels::fp8_scales(granularity_of(granularity), rows, columns));
}

template <class T>
void quantize_blocks(const Fp8Tensor& to, const Tensor& x, const Tensor& counts) {
  kernels::BlockQuantization<T> op;
  op.granularity = granularity_of(to.granularity);
  op.rows = x.size(0);
  op.columns = op.rows > 0 ? x.numel() / op.rows : 0;
  op.x = data<T>(x);
  if (to.values.defined()) {
    require_host_elements(to.values, DType::u8, x.numel());
    require_scales(to.scale, to.granularity, op.rows, op.columns);
    op.values = to.values.as<std::uint8_t>(), op.scales = to.scale.as<float>();
  }
  if (to.transposed.defined()) {
    require_host_elements(to.transposed, DType::u8, x.numel());
    require_scales(to.transposed_scale, to.granularity, op.columns, op.rows);
    op.transposed = to.transposed.as<std::uint8_t>();
    op.transposed_scales = to.transposed_scale.as<float>();
  }
  const std::int64_t across = kernels::fp8_blocks(op.columns),
                     tiles = kernels::fp8_blocks(op.rows) * across;
  const Counts sums = tensor::parallel_reduce(
      0, tiles, 1, Counts{},
      [&](std::int64_t begin, std::int64_t end, Counts sum) {
        for (std::int64_t t = begin; t < end; ++t) {
          const kernels::Fp8TileCounts more = kernels::quantize_tile(op, t / across, t % across);
          sum[kernels::fp8_flushed] += static_cast<double>(more.flushed);
          sum[kernels::fp8_not_finite] += static_cast<double>(more.not_finite);
        }
        return sum;
      },
      [](Counts a, const Counts& b) {
        for (std::size_t k = 0; k < a.size(); ++k) a[k] += b[k];
        return a;
      });
  if (!counts.defined()) return;
  for (std::size_t k = 0; k < sums.size(); ++k) counts.as<double>()[k] += sums[k];
  counts.as<double>()[kernels::fp8_elements] += static_cast<double>(x.numel());
}

/// to[rows, columns] = values times the scales of vectors or blocks.
void widen_blocks(float* to, const Fp8Copy& from, std::int64_t rows, std::int64_t columns) {
  static constexpr std::array<float, 256> numbers = fp8_numbers<Fp8::e4m3>();
  require_scales(from.scale, from.granularity, rows, columns);
  const auto* const values = from.values.as<const std::uint8_t>();
  const auto* const scales = from.scale.as<const float>();
  const bool vectors = from.granularity == Fp8Granularity::vector;
  const std::int64_t of_block_row = kernels::fp8_scales_of_block_row(columns);
  tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      for (std::int64_t b = 0; b < kernels::fp8_blocks(columns); ++b) {
        const float scale =
            scales[vectors ? b * rows + r : r / kernels::fp8_block * of_block_row + b];
        const std::int64_t last = std::min(columns, (b + 1) * kernels::fp8_block);
        for (std::int64_t c = b * kernels::fp8_block; c < last; ++c)
          to[r * columns + c] = numbers[values[r * columns + c]] * scale;
      }
  });
}

}  // namespace

void cpu::quantize(const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how) {
  const TimedWork timed(Work::copy);
  const std::int64_t n = x.numel();
  require_host_elements(x, x.dtype, n);
  if (to.granularity != Fp8Granularity::tensor) {
    if (to.format != Fp8::e4m3 || how.activation != Activation::none || how.gated ||
        how.column_sums.defined() || how.known.defined())
      throw InternalError("quantize: not with scales of blocks on a CPU");
    with_element(x, [&]<class T>(T) { quantize_blocks<T>(to, x, how.counts); });
    return;
  }
  if (to.values.defined()) require_host_elements(to.values, DType::u8, n);
  require_host_elements(to.scale, DType::f32, 1);
  if (how.activation != Activation::none || how.column_sums.defined())
    throw InternalError("quantize: a CPU computes activations and sums by themselves");
  with_element(x, [&]<class T>(T) {
    const T* const from = data<T>(x);
    const std::uint32_t most = largest_bits(from, n);
    const double known = how.known.defined() ? *how.known.as<const double>() : 0;
    if (!how.scale_is_made)
      *to.scale.as<float>() = known > 0
                                  ? kernels::fp8_scale_of_range(
                                        known, to.format == Fp8::e4m3 ? kernels::Fp8Format::e4m3
                                                                      : kernels::Fp8Format::e5m2)
                                  : scale_of(most, to.format);
    const float scale = *to.scale.as<float>();
    if (how.exponents.defined() && most > 0)
      how.exponents.as<double>()[kernels::fp8_exponent(most)] += 1;
    if (!to.values.defined()) return;
    auto* const values = to.values.as<std::uint8_t>();
    // of a tensor in parts, others' may be what makes the scale no number
    const bool all_finite = most < infinity_bits && std::isfinite(scale);
    if (to.format == Fp8::e4m3)
      round_all<Fp8::e4m3>(values, from, n, scale, all_finite, how.counts);
    else
      round_all<Fp8::e5m2>(values, from, n, scale, all_finite, how.counts);
  });
}

void cpu::widen(const Tensor& to, const Fp8Copy& from) {
  const std::int64_t n = from.values.numel();
  require_host_elements(from.values, DType::u8, n);
  require_host_elements(to, DType::f32, n);
  if (from.granularity != Fp8Granularity::tensor)
    return widen_blocks(to.as<float>(), from, from.values.size(0), from.values.size(1));
  const auto* const values = from.values.as<const std::uint8_t>();
  if (from.format == Fp8::e4m3)
    widen_all<Fp8::e4m3>(to.as<float>(), values, n);
  else
    widen_all<Fp8::e5m2>(to.as<float>(), values, n);
}

}  // namespace trainx::operations
