// What a block learns of a row of logits in one pass over it.
#pragma once
#include "kernels/eight.cuh"
#include <cstdint>

namespace trainx::kernels {

constexpr float log2_e = 1.4426950408889634f, ln_2 = 0.6931471805599453f;

// within 2 ulp; 0 of -infinity
__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// The largest logit times log2(e) and the sum of 2^(logit * log2(e) - largest), found together
/// (Milakov & Gimelshein 2018, arXiv:1805.02867).
struct SoftmaxSum {
  float largest = -1e38f;  // finite, so that logits of -infinity give 0 and not NaN
  float sum = 0;

  __device__ __forceinline__ void add(const SoftmaxSum& o) {
    const float both = fmaxf(largest, o.largest);
    sum = sum * exp2_approximate(largest - both) + o.sum * exp2_approximate(o.largest - both);
    largest = both;
  }
  template <int n>
  __device__ __forceinline__ void add_logits(const float (&x)[n]) {
    float most = x[0];
#pragma unroll
    // NaN is passed over here and shows in the sum
    for (int j = 1; j < n; ++j) most = fmaxf(most, x[j]);
    const float both = fmaxf(largest, most * log2_e);
    float total = 0;
#pragma unroll
    for (int j = 0; j < n; ++j) total += exp2_approximate(fmaf(x[j], log2_e, -both));
    sum = sum * exp2_approximate(largest - both) + total;
    largest = both;
  }
};

/// The first of the largest logits; NaN is never the largest.
struct Argmax {
  float value = -INFINITY;
  std::int32_t column = 0x7fffffff;
  __device__ __forceinline__ void add(float x, std::int32_t c) {
    if (x > value || (x == value && c < column)) {
      value = x;
      column = c;
    }
  }
};

/// 16 bytes of logits as floats.
__device__ __forceinline__ void widen16(const uint4& x, float (&to)[4], float) {
  to[0] = __uint_as_float(x.x);
  to[1] = __uint_as_float(x.y);
  to[2] = __uint_as_float(x.z);
  to[3] = __uint_as_float(x.w);
}
template <class T>
__device__ __forceinline__ void widen16(const uint4& x, float (&to)[8], T) {
  widen8(Eight<T>{{x}}, to);
}
__device__ __forceinline__ uint4 narrow16(const float (&x)[4], float) {
  return make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                    __float_as_uint(x[3]));
}
template <class T>
__device__ __forceinline__ uint4 narrow16(const float (&x)[8], T) {
  Eight<T> to;
  narrow8(x, to);
  return to.at[0];
}

}  // namespace trainx::kernels
