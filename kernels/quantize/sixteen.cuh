// Sixteen neighbouring elements: the piece of a row that a thread casts to fp8.
#pragma once
#include "kernels/eight.cuh"
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

template <class T>
struct Sixteen {
  Eight<T> low, high;
};
template <bool aligned, class T>
__device__ __forceinline__ Sixteen<T> load16(const T* p, int count) {
  return {load8<aligned>(p, count), load8<aligned>(p + 8, count - 8)};
}
template <class T>
__device__ __forceinline__ void widen16(const Sixteen<T>& x, float (&to)[16]) {
  float eight[8];
  widen8(x.low, eight);
#pragma unroll
  for (int j = 0; j < 8; ++j) to[j] = eight[j];
  widen8(x.high, eight);
#pragma unroll
  for (int j = 0; j < 8; ++j) to[8 + j] = eight[j];
}
/// Rounds as a store in T and a load would do it.
template <class T>
__device__ __forceinline__ Sixteen<T> round16(float (&x)[16]) {
  Sixteen<T> rounded;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float eight[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) eight[j] = x[8 * half + j];
    narrow8(eight, half == 0 ? rounded.low : rounded.high);
  }
  widen16(rounded, x);
  return rounded;
}

/// The largest and the smallest magnitude of a piece, by their bits in fp32: NaNs have larger ones
/// than infinity, which has larger ones than all numbers.
struct Extremes {
  std::uint32_t most, least;
};

template <class T>
__device__ __forceinline__ Extremes extremes16(const Sixteen<T>& piece) {
  float x[16];
  widen16(piece, x);
  Extremes found{0, 0xffffffffu};
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    const std::uint32_t magnitude = __float_as_uint(x[j]) & 0x7fffffffu;
    found.most = magnitude > found.most ? magnitude : found.most;
    found.least = magnitude < found.least ? magnitude : found.least;
  }
  return found;
}
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ std::uint32_t larger2(std::uint32_t a, std::uint32_t b) {
  asm("max.u16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ __forceinline__ std::uint32_t smaller2(std::uint32_t a, std::uint32_t b) {
  asm("min.u16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
/// Two at a time.
__device__ __forceinline__ Extremes extremes16(const Sixteen<Bf16>& piece) {
  const uint4 &a = piece.low.at[0], &b = piece.high.at[0];
  std::uint32_t larger[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, smaller[8];
#pragma unroll
  for (int w = 0; w < 8; ++w) smaller[w] = larger[w] &= 0x7fff7fffu;
#pragma unroll
  for (int half = 4; half > 0; half /= 2)
#pragma unroll
    for (int w = 0; w < half; ++w) {
      larger[w] = larger2(larger[w], larger[w + half]);
      smaller[w] = smaller2(smaller[w], smaller[w + half]);
    }
  const std::uint32_t most = larger[0], least = smaller[0];
  const std::uint32_t most_low = most << 16, most_high = most & 0xffff0000u,
                      least_low = least << 16, least_high = least & 0xffff0000u;
  return {most_low > most_high ? most_low : most_high,
          least_low < least_high ? least_low : least_high};
}
#endif

}  // namespace trainx::kernels
