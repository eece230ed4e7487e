// Floats and doubles as bits: bf16, fp16 and the split fp32.
#pragma once
#include "kernels/host_device.hpp"
#include <cstdint>
#include <cstring>

namespace trainx::kernels {

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

TRAINX_HOST_DEVICE std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}
TRAINX_HOST_DEVICE float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

TRAINX_HOST_DEVICE std::uint64_t bits_of(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint64_t>(__double_as_longlong(x));
#else
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}
TRAINX_HOST_DEVICE double double_of(std::uint64_t bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

TRAINX_HOST_DEVICE float widened(float x) { return x; }
TRAINX_HOST_DEVICE float widened(Bf16 x) {
  return float_of(static_cast<std::uint32_t>(x.bits) << 16);
}
/// Every finite fp16 is 2^112 times the float of the same exponent and fraction bits, subnormals as
/// well; beyond lie infinity and NaN.
TRAINX_HOST_DEVICE float widened(Fp16 x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#else
  const std::uint32_t magnitude = static_cast<std::uint32_t>(x.bits & 0x7fff) << 13,
                      sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
  const std::uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
  return float_of(sign | (magnitude >= 0x0f800000 ? magnitude + 0x70000000 : finite));
#endif
}
/// Values: nearest, ties to even; NaN stays NaN.
TRAINX_HOST_DEVICE void narrow(float x, float& to) { to = x; }
TRAINX_HOST_DEVICE void narrow(float x, Bf16& to) {
  const std::uint32_t bits = bits_of(x);
  to.bits =
      static_cast<std::uint16_t>(x == x ? (bits + 0x7fff + ((bits >> 16) & 1)) >> 16 : 0x7fc0);
}

/// From 65520 on infinity. Below 2^-14 adding 0.5 rounds to a multiple of 2^-24, as fp16 has them
/// there.
TRAINX_HOST_DEVICE void narrow(float x, Fp16& to) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  const std::uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffff;
  // the carry may reach the exponent, up to infinity
  const std::uint32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  const std::uint32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000;
  const std::uint32_t rounded = magnitude > 0x7f800000    ? 0x7fff
                                : magnitude >= 0x47800000 ? 0x7c00
                                : magnitude < 0x38800000  ? small
                                                          : normal;
  to.bits =
      static_cast<std::uint16_t>((magnitude > 0x7f800000 ? 0 : bits >> 16 & 0x8000) | rounded);
#endif
}

/// Weights: nearest, ties away from zero, so that exactly 2^16 floats share a bf16 and the 16 bits
/// of a split master tell them apart; NaN stays NaN.
TRAINX_HOST_DEVICE Bf16 nearest_weight(float x) {
  const std::uint32_t bits = bits_of(x);
  return {static_cast<std::uint16_t>(x == x ? (bits + 0x8000) >> 16 : bits >> 16 | 0x40)};
}
/// The signed correction from nearest_weight(x) to x, in steps of the fp32 representation.
TRAINX_HOST_DEVICE std::uint16_t low_bits(float x) {
  const std::uint32_t bits = bits_of(x);
  return static_cast<std::uint16_t>(x == x ? bits : bits & 0x7fff);
}
TRAINX_HOST_DEVICE float joined(Bf16 high, std::uint16_t low) {
  const std::uint32_t correction =
      static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(low)));
  return float_of((static_cast<std::uint32_t>(high.bits) << 16) + correction);
}

}  // namespace trainx::kernels
