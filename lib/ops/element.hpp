// Elements of tensors as the CPU loops see them: fp32, bf16 or fp16 in memory, fp32 in arithmetic.
#pragma once
#include "core/error.hpp"
#include "kernels/bits.hpp"
#include <ATen/core/Tensor.h>
#include <algorithm>
#include <cstdint>

/// Compiled for three instruction sets, chosen when the program starts.
#define TRAINX_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
/// Inlined into each clone, so that it is compiled for the clone's instruction set.
#define TRAINX_INLINE inline __attribute__((always_inline))

namespace trainx::ops {

using kernels::Bf16, kernels::Fp16;

TRAINX_INLINE float load(float x) { return x; }
TRAINX_INLINE float load(Bf16 x) { return kernels::widened(x); }
TRAINX_INLINE float load(Fp16 x) { return kernels::widened(x); }
/// Rounds to nearest, ties to even; NaN stays NaN.
template <class T>
TRAINX_INLINE void store(T& to, float x) {
  kernels::narrow(x, to);
}
/// What would be read back.
template <class T>
TRAINX_INLINE float rounded(float x) {
  T t;
  store(t, x);
  return load(t);
}

template <class T>
T* data(const at::Tensor& t) {
  return static_cast<T*>(t.data_ptr());
}

/// Calls f(T{}) with the element type of `t`.
template <class F>
void with_element(const at::Tensor& t, F f) {
  if (t.scalar_type() == at::kFloat)
    f(float{});
  else if (t.scalar_type() == at::kBFloat16)
    f(Bf16{});
  else if (t.scalar_type() == at::kHalf)
    f(Fp16{});
  else
    throw InternalError(std::string("operation on elements of type ") +
                        c10::toString(t.scalar_type()));
}

/// Rows that a thread should have at least, so that starting it pays: about 16 Ki elements.
inline std::int64_t row_grain(std::int64_t columns) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, columns));
}

}  // namespace trainx::ops
