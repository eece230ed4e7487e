#include "kernels/activation/gelu.hpp"
#include "kernels/reduce/column_sum.hpp"
#include "ops/cuda/launch.hpp"

namespace trainx::ops::cuda {

void gelu(const Gpu& gpu, const at::Tensor& activated, const at::Tensor& x) {
  gpu.writes(activated);
  with_kernel_element(x, [&]<class T>(T) {
    gpu::require(kernels::gelu(pointer<T>(activated), pointer<T>(x), x.numel(), kernels::GeluKind::tanh, gpu.space.stream), "GELU");
  });
  gpu.done(Work::activation);
}

void gelu_backward_with_bias(const Gpu& gpu, const at::Tensor& dx, const at::Tensor& d_bias, const at::Tensor& d_activated, const at::Tensor& x, bool accumulate) {
  gpu.writes(dx);
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::GeluBackward<T> op{x.size(0), x.size(1), pointer<T>(d_activated), pointer<T>(x), pointer<T>(dx), pointer<float>(d_bias), accumulate};
    gpu::require(kernels::gelu_backward(op, kernels::GeluKind::tanh, gpu.fold, gpu.space.stream), "GELU backward");
  });
  gpu.done(Work::activation);
}

void column_sum(const Gpu& gpu, const at::Tensor& sums, const at::Tensor& x, bool accumulate) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::ColumnSum<T> op{x.size(0), x.size(1), pointer<T>(x), pointer<float>(sums), accumulate};
    gpu::require(kernels::column_sum(op, gpu.fold, gpu.space.stream), "column sum");
  });
  gpu.done(Work::sum);
}

}  // namespace trainx::ops::cuda
