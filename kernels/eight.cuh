// Eight neighbouring elements: the piece of a row that a thread works on.
#pragma once
#include "kernels/bits.hpp"
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

/// As they lie in memory: words of 16 bytes.
template <class T>
struct Eight {
  static constexpr int words = static_cast<int>(8 * sizeof(T) / 16);
  uint4 at[words];
};

template <class T>
bool aligned16(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
}

/// The first `count` of the eight elements, zeros after them (count may be negative, or beyond 8).
/// `aligned`: p is at 16 bytes and count at most 0 or at least 8.
template <bool aligned, class T>
__device__ __forceinline__ Eight<T> load8(const T* p, int count) {
  Eight<T> x;
#pragma unroll
  for (int w = 0; w < Eight<T>::words; ++w) x.at[w] = make_uint4(0, 0, 0, 0);
  if constexpr (aligned) {
    if (count > 0) {
#pragma unroll
      for (int w = 0; w < Eight<T>::words; ++w) x.at[w] = reinterpret_cast<const uint4*>(p)[w];
    }
  } else {
    std::uint32_t words[4 * Eight<T>::words] = {};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if constexpr (sizeof(T) == 2) {
        if (j < count) words[j / 2] |= static_cast<std::uint32_t>(p[j].bits) << 16 * (j % 2);
      } else {
        if (j < count) words[j] = __float_as_uint(p[j]);
      }
    }
#pragma unroll
    for (int w = 0; w < Eight<T>::words; ++w)
      x.at[w] = make_uint4(words[4 * w], words[4 * w + 1], words[4 * w + 2], words[4 * w + 3]);
  }
  return x;
}

__device__ __forceinline__ void widen8(const Eight<Bf16>& x, float (&to)[8]) {
  const std::uint32_t words[4] = {x.at[0].x, x.at[0].y, x.at[0].z, x.at[0].w};
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    to[2 * j] = __uint_as_float(words[j] << 16);
    to[2 * j + 1] = __uint_as_float(words[j] & 0xffff0000u);
  }
}
__device__ __forceinline__ void widen8(const Eight<Fp16>& x, float (&to)[8]) {
  const std::uint32_t words[4] = {x.at[0].x, x.at[0].y, x.at[0].z, x.at[0].w};
#pragma unroll
  for (int j = 0; j < 8; ++j)
    to[j] = widened(Fp16{static_cast<std::uint16_t>(words[j / 2] >> 16 * (j % 2))});
}
__device__ __forceinline__ void widen8(const Eight<float>& x, float (&to)[8]) {
#pragma unroll
  for (int w = 0; w < 2; ++w) {
    to[4 * w] = __uint_as_float(x.at[w].x);
    to[4 * w + 1] = __uint_as_float(x.at[w].y);
    to[4 * w + 2] = __uint_as_float(x.at[w].z);
    to[4 * w + 3] = __uint_as_float(x.at[w].w);
  }
}

/// Two elements in one instruction, nearest, ties to even; NaN stays NaN. As narrow(), but for the
/// bits of NaN.
__device__ __forceinline__ std::uint32_t narrow_pair(float low, float high, Bf16) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ std::uint32_t narrow_pair(float low, float high, Fp16) {
  std::uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <class T>
__device__ __forceinline__ void narrow8(const float (&x)[8], Eight<T>& to) {
  to.at[0] = make_uint4(narrow_pair(x[0], x[1], T{}), narrow_pair(x[2], x[3], T{}),
                        narrow_pair(x[4], x[5], T{}), narrow_pair(x[6], x[7], T{}));
}
__device__ __forceinline__ void narrow8(const float (&x)[8], Eight<float>& to) {
#pragma unroll
  for (int w = 0; w < 2; ++w)
    to.at[w] = make_uint4(__float_as_uint(x[4 * w]), __float_as_uint(x[4 * w + 1]),
                          __float_as_uint(x[4 * w + 2]), __float_as_uint(x[4 * w + 3]));
}

template <bool aligned, class T>
__device__ __forceinline__ void store8(T* p, const Eight<T>& x, int count) {
  if constexpr (aligned) {
    if (count > 0) *reinterpret_cast<uint4*>(p) = x.at[0];
  } else {
    const std::uint32_t words[4] = {x.at[0].x, x.at[0].y, x.at[0].z, x.at[0].w};
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (j < count) p[j].bits = static_cast<std::uint16_t>(words[j / 2] >> 16 * (j % 2));
  }
}
template <bool aligned>
__device__ __forceinline__ void store8(float* p, const Eight<float>& x, int count) {
  if constexpr (aligned) {
    if (count > 0) {
      reinterpret_cast<uint4*>(p)[0] = x.at[0];
      reinterpret_cast<uint4*>(p)[1] = x.at[1];
    }
  } else {
    float values[8];
    widen8(x, values);
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (j < count) p[j] = values[j];
  }
}

/// The first `count` of eight sums, overwriting or added to what is there; in words of 16 bytes
/// where they lie so.
__device__ __forceinline__ void put_sums8(float* to, const float (&sums)[8], int count,
                                          bool accumulate) {
  float x[8];
  const bool aligned = count >= 8 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
  if (aligned) {
    Eight<float> words = {};
    if (accumulate) words = load8<true>(to, 8);
    widen8(words, x);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = accumulate ? x[j] + sums[j] : sums[j];
    narrow8(x, words);
    store8<true>(to, words, 8);
  } else {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (j < count) to[j] = accumulate ? to[j] + sums[j] : sums[j];
  }
}

}  // namespace trainx::kernels
