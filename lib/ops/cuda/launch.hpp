#pragma once
#include "core/error.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/bits.hpp"
#include "kernels/random/fused_dropout.hpp"
#include "ops/cuda/ops.hpp"

namespace trainx::ops::cuda {

/// Null for an undefined tensor.
template <class T>
T* pointer(const at::Tensor& t) {
  return t.defined() ? static_cast<T*>(t.data_ptr()) : nullptr;
}

/// Calls f(T{}) with the kernels' element type of `t`.
template <class F>
void with_kernel_element(const at::Tensor& t, F f) {
  if (t.scalar_type() == at::kFloat)
    f(float{});
  else if (t.scalar_type() == at::kBFloat16)
    f(kernels::Bf16{});
  else if (t.scalar_type() == at::kHalf)
    f(kernels::Fp16{});
  else
    throw InternalError(std::string("operation on elements of type ") +
                        c10::toString(t.scalar_type()));
}

inline kernels::FusedDropout fused(const Dropout& d) {
  kernels::FusedDropout out;
  if (!d) return out;
  out.key = {d.probability, d.key.seed, d.key.block, d.key.site};
  out.positions = d.positions;
  out.length = d.length;
  out.first_row = d.first_row;
  return out;
}

inline DType type_of(const at::Tensor& t) {
  return t.scalar_type() == at::kBFloat16 ? DType::bf16
         : t.scalar_type() == at::kHalf   ? DType::f16
                                          : DType::f32;
}

}  // namespace trainx::ops::cuda
