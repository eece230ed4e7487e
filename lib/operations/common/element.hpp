// Elements of tensors as the CPU loops see them: fp32, bf16 or fp16 in memory, fp32 in arithmetic.
#pragma once
#include "core/error.hpp"
#include "kernels/bits.hpp"
#include "tensor/tensor.hpp"
#include <algorithm>
#include <cstdint>

/// Compiled for three instruction sets, chosen when the program starts: before sanitizers are
/// ready, which get one.
#ifdef __SANITIZE_ADDRESS__
#define TRAINX_CLONES
#else
#define TRAINX_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
/// Inlined into each clone, so that it is compiled for the clone's instruction set.
#define TRAINX_INLINE inline __attribute__((always_inline))

namespace trainx::operations {

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
T* data(const Tensor& t) {
  return t.as<T>();
}

/// Calls f(T{}) with the element type of `t`.
template <class F>
void with_element(const Tensor& t, F f) {
  switch (t.dtype) {
    case DType::f32: return f(float{});
    case DType::bf16: return f(Bf16{});
    case DType::f16: return f(Fp16{});
    default: throw InternalError("operation on elements of type " + std::string(name_of(t.dtype)));
  }
}

/// Rows that a thread should have at least, so that starting it pays: about 16 Ki elements.
inline std::int64_t row_grain(std::int64_t columns) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, columns));
}

}  // namespace trainx::operations
