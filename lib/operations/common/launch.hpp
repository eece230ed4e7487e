#pragma once
#include "core/error.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/bits.hpp"
#include "kernels/random/fused_dropout.hpp"
#include "operations/common/gpu.hpp"
#include "operations/dropout/dropout.hpp"
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations::cuda {

/// Null for an undefined tensor.
template <class T>
T* pointer(const Tensor& t) {
  return t.as<T>();
}

/// Calls f(T{}) with the kernels' element type of `t`.
template <class F>
void with_kernel_element(const Tensor& t, F f) {
  switch (t.dtype) {
    case DType::f32: return f(float{});
    case DType::bf16: return f(kernels::Bf16{});
    case DType::f16: return f(kernels::Fp16{});
    default: throw InternalError("operation on elements of type " + std::string(name_of(t.dtype)));
  }
}

/// Is it where kernels read and write 16 bytes at once? Null is.
inline bool is_aligned16(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

inline kernels::FusedDropout fused(const Dropout& d) {
  kernels::FusedDropout out;
  if (!d) return out;
  out.key = {d.probability, d.key.seed, d.key.block, d.key.site};
  out.positions = d.positions;
  out.length = d.length;
  out.first_row = d.first_row;
  out.first_head = d.first_head;
  return out;
}

}  // namespace trainx::operations::cuda
