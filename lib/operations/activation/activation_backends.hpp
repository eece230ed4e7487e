// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/activation/activation_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void gelu(const Tensor& activated, const Tensor& x);
void gelu_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                             const Tensor& x, bool accumulate);
void gelu_erf(const Tensor& activated, const Tensor& x);
void gelu_erf_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                                 const Tensor& x, bool accumulate);
void tanh(const Tensor& y, const Tensor& x);
void tanh_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                             const Tensor& y, bool accumulate);
void pointwise(Activation f, const Tensor& y, const Tensor& x);
void pointwise_backward_with_bias(Activation f, const Tensor& dx, const Tensor& d_bias,
                                  const Tensor& dy, const Tensor& kept, bool accumulate);
}  // namespace cpu

namespace cuda {
void gelu(const Gpu& gpu, const Tensor& activated, const Tensor& x);
void gelu_backward_with_bias(const Gpu& gpu, const Tensor& dx, const Tensor& d_bias,
                             const Tensor& d_activated, const Tensor& x, bool accumulate);
void gelu_erf(const Gpu& gpu, const Tensor& activated, const Tensor& x);
void gelu_erf_backward_with_bias(const Gpu& gpu, const Tensor& dx, const Tensor& d_bias,
                                 const Tensor& d_activated, const Tensor& x, bool accumulate);
void tanh(const Gpu& gpu, const Tensor& y, const Tensor& x);
void tanh_backward_with_bias(const Gpu& gpu, const Tensor& dx, const Tensor& d_bias,
                             const Tensor& dy, const Tensor& y, bool accumulate);
void pointwise(const Gpu& gpu, Activation f, const Tensor& y, const Tensor& x);
void pointwise_backward_with_bias(const Gpu& gpu, Activation f, const Tensor& dx,
                                  const Tensor& d_bias, const Tensor& dy, const Tensor& kept,
                                  bool accumulate);
}  // namespace cuda

}  // namespace trainx::operations
