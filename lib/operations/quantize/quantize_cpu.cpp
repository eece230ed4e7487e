#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/quantize/quantize_backends.hpp"
#include <ATen/Parallel.h>
#include <algorithm>
#include <bit>

namespace trainx::operations {
namespace {

constexpr std::int64_t grain = 16384;
constexpr std::uint32_t infinity_bits = 0x7f800000;

/// Of the largest magnitude. NaNs have larger bits than infinity, which has larger ones than all
/// numbers.
template <class T>
std::uint32_t largest_bits(const T* x, std::int64_t n) {
  return at::parallel_reduce(
      0, n, grain, std::uint32_t{0},
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

template <Fp8 format, class T>
void round_all(std::uint8_t* to, const T* x, std::int64_t n, float scale) {
  at::parallel_for(0, n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = rounded_to_fp8<format>(load(x[i]) / scale);
  });
}

template <Fp8 format>
void widen_all(float* to, const std::uint8_t* values, std::int64_t n) {
  static constexpr std::array<float, 256> numbers = fp8_numbers<format>();
  at::parallel_for(0, n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = numbers[values[i]];
  });
}

/// InternalError unless `t` has n elements without gaps.
void require_elements(const Tensor& t, DType dtype, std::int64_t n) {
  if (t.dtype != dtype || t.numel() != n || !t.is_contiguous())
    throw InternalError("quantize: an operand of another type or size");
}

}  // namespace

void cpu::quantize(const Fp8Tensor& to, const Tensor& x) {
  const TimedWork timed(Work::copy);
  const std::int64_t n = x.numel();
  require_elements(x, x.dtype, n);
  require_elements(to.values, DType::u8, n);
  require_elements(to.scale, DType::f32, 1);
  auto* const values = to.values.as<std::uint8_t>();
  with_element(x, [&]<class T>(T) {
    const T* const from = data<T>(x);
    const float scale = *to.scale.as<float>() = scale_of(largest_bits(from, n), to.format);
    if (to.format == Fp8::e4m3)
      round_all<Fp8::e4m3>(values, from, n, scale);
    else
      round_all<Fp8::e5m2>(values, from, n, scale);
  });
}

void cpu::widen(const Tensor& to, const Fp8Tensor& from) {
  const std::int64_t n = from.values.numel();
  require_elements(from.values, DType::u8, n);
  require_elements(to, DType::f32, n);
  const auto* const values = from.values.as<const std::uint8_t>();
  if (from.format == Fp8::e4m3)
    widen_all<Fp8::e4m3>(to.as<float>(), values, n);
  else
    widen_all<Fp8::e5m2>(to.as<float>(), values, n);
}

}  // namespace trainx::operations
