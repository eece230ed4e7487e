// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/activation/activation_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void activate(Activation f, const Tensor& y, const Tensor& x);
void activate_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                       const Tensor& kept, bool accumulate);
}  // namespace cpu

namespace cuda {
void activate(const Gpu& gpu, Activation f, const Tensor& y, const Tensor& x);
void activate_backward(const Gpu& gpu, Activation f, const Tensor& dx, const Tensor& d_bias,
                       const Tensor& dy, const Tensor& kept, bool accumulate);
}  // namespace cuda

}  // namespace trainx::operations
