#include "comm/sums.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <bit>
#include <string>

namespace trainx::comm {
namespace {

// A block of sums stays in the first cache, and its fixed size lets the compiler make vectors of
// the loops.
constexpr std::int64_t block = 512;

template <class T>
struct Own {  // summed as it is
  using Stored = T;
  using Sum = T;
  static T widen(T x) { return x; }
  static T round(T x) { return x; }
};

// As in core/half.hpp, where vectors can be made of it: without calls and branches.
struct Bf16 {
  using Stored = std::uint16_t;
  using Sum = float;
  static float widen(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static std::uint16_t round(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16,
                        nan = (bits >> 16) | 0x40;
    return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
};

struct F16 {
  using Stored = std::uint16_t;
  using Sum = float;
  static float widen(std::uint16_t bits) {
    // The exponent's bias is corrected by a product, which is exact and makes subnormal numbers
    // right as well.
    const float scaled = std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x7fff) << 13) *
                         0x1p112f;
    const auto magnitude = std::bit_cast<std::uint32_t>(scaled);
    // what came out as 65536 or more was infinite or a NaN
    const std::uint32_t special = magnitude >= 0x47800000 ? 0x7f800000u : 0u;
    return std::bit_cast<float>(magnitude | special |
                                static_cast<std::uint32_t>(bits & 0x8000) << 16);
  }
  static std::uint16_t round(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    const std::uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
    // Below 2^-14: adding 0.5, whose last bit is worth 2^-24, rounds to a multiple of that.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(
                                    std::bit_cast<float>(std::min(magnitude, 0x38800000u)) + 0.5f) -
                                0x3f000000;
    std::uint32_t half = magnitude < 0x38800000 ? small : normal;
    half = magnitude >= 0x47800000 ? 0x7c00u : half;
    half = magnitude > 0x7f800000 ? 0x7e00u : half;
    return static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000));
  }
};

template <class Type>
void sum_block(typename Type::Stored* sum, std::span<const std::byte* const> parts, std::int64_t at,
               std::int64_t n) {
  using Stored = typename Type::Stored;
  typename Type::Sum sums[block];
  const auto part = [&](std::size_t r) { return reinterpret_cast<const Stored*>(parts[r]) + at; };
  const Stored* first = part(0);
  for (std::int64_t i = 0; i < n; ++i) sums[i] = Type::widen(first[i]);
  for (std::size_t r = 1; r < parts.size(); ++r) {
    const Stored* p = part(r);
    for (std::int64_t i = 0; i < n; ++i) sums[i] += Type::widen(p[i]);
  }
  for (std::int64_t i = 0; i < n; ++i) sum[at + i] = Type::round(sums[i]);
}

template <class Type>
void sum_all(std::byte* sum, std::span<const std::byte* const> parts, std::int64_t n) {
  auto* out = reinterpret_cast<typename Type::Stored*>(sum);
  std::int64_t at = 0;
  for (; at + block <= n; at += block) sum_block<Type>(out, parts, at, block);
  if (at < n) sum_block<Type>(out, parts, at, n - at);
}

}  // namespace

void sum_parts(std::byte* sum, std::span<const std::byte* const> parts, std::int64_t elements,
               DType dtype) {
  switch (dtype) {
    case DType::f32: return sum_all<Own<float>>(sum, parts, elements);
    case DType::f64: return sum_all<Own<double>>(sum, parts, elements);
    case DType::i64: return sum_all<Own<std::int64_t>>(sum, parts, elements);
    case DType::bf16: return sum_all<Bf16>(sum, parts, elements);
    case DType::f16: return sum_all<F16>(sum, parts, elements);
    default: throw InternalError("sum_parts: no sums of " + std::string(name_of(dtype)));
  }
}

}  // namespace trainx::comm
