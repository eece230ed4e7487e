// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/activation/activation_spec.hpp"
#include "operations/linear/linear_fp8.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias);
void linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                           const Tensor& sum);
void linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                            bool accumulate, const Tensor& cast);
void linear_gelu(Activation f, const Tensor& activated, const Tensor& preactivation,
                 const Tensor& x, const Tensor& weight, const Tensor& bias);
void linear_gelu_backward(Activation f, const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                          const Tensor& weight, const Tensor& x, bool accumulate);
void fp8_linear(const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight, const Tensor& bias,
                const Tensor& wide);
void fp8_linear_backward_input(const Tensor& dx, const Fp8Tensor& dy, const Fp8Tensor& weight,
                               const Tensor& sum, const Tensor& wide);
void fp8_linear_backward_weight(const Tensor& d_weight, const Fp8Tensor& dy, const Fp8Tensor& x,
                                bool accumulate, const Tensor& wide);
}  // namespace cpu

namespace cuda {
void linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& weight,
            const Tensor& bias);
void linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy, const Tensor& weight,
                           const Tensor& sum);
void linear_gelu(const Gpu& gpu, Activation f, const Tensor& activated, const Tensor& preactivation,
                 const Tensor& x, const Tensor& weight, const Tensor& bias);
void linear_gelu_backward(const Gpu& gpu, Activation f, const Tensor& dx, const Tensor& d_bias,
                          const Tensor& dy, const Tensor& weight, const Tensor& x, bool accumulate);
void linear_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Tensor& dy,
                            const Tensor& x, bool accumulate);
void fp8_linear(const Gpu& gpu, const Tensor& y, const Fp8Tensor& x, const Fp8Tensor& weight,
                const Tensor& bias);
void fp8_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Fp8Tensor& dy,
                               const Fp8Tensor& weight, const Tensor& sum);
void fp8_linear_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Fp8Tensor& dy,
                                const Fp8Tensor& x, bool accumulate);
}  // namespace cuda

}  // namespace trainx::operations
