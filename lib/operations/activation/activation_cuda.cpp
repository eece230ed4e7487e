#include "kernels/activation/gelu.hpp"
#include "kernels/activation/tanh.hpp"
#include "operations/common/launch.hpp"
#include "operations/activation/activation_backends.hpp"

namespace trainx::operations::cuda {
namespace {

using kernels::GeluKind;

void gelu_of(const Gpu& gpu, GeluKind kind, const Tensor& activated, const Tensor& x) {
  with_kernel_element(x, [&]<class T>(T) {
    gpu::require(
        kernels::gelu(pointer<T>(activated), pointer<T>(x), x.numel(), kind, gpu.space.stream),
        "GELU");
  });
  gpu.done(Work::activation);
}

void gelu_backward_of(const Gpu& gpu, GeluKind kind, const Tensor& dx, const Tensor& d_bias,
                      const Tensor& d_activated, const Tensor& x, bool accumulate) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::GeluBackward<T> op{x.size(0),     x.size(1),      pointer<T>(d_activated),
                                      pointer<T>(x), pointer<T>(dx), pointer<float>(d_bias),
                                      accumulate};
    gpu::require(kernels::gelu_backward(op, kind, gpu.fold, gpu.space.stream), "GELU backward");
  });
  gpu.done(Work::activation);
}

}  // namespace

void gelu(const Gpu& gpu, const Tensor& activated, const Tensor& x) {
  gelu_of(gpu, GeluKind::tanh, activated, x);
}
void gelu_erf(const Gpu& gpu, const Tensor& activated, const Tensor& x) {
  gelu_of(gpu, GeluKind::erf, activated, x);
}
void gelu_backward_with_bias(const Gpu& gpu, const Tensor& dx, const Tensor& d_bias,
                             const Tensor& d_activated, const Tensor& x, bool accumulate) {
  gelu_backward_of(gpu, GeluKind::tanh, dx, d_bias, d_activated, x, accumulate);
}
void gelu_erf_backward_with_bias(const Gpu& gpu, const Tensor& dx, const Tensor& d_bias,
                                 const Tensor& d_activated, const Tensor& x, bool accumulate) {
  gelu_backward_of(gpu, GeluKind::erf, dx, d_bias, d_activated, x, accumulate);
}

void tanh(const Gpu& gpu, const Tensor& y, const Tensor& x) {
  with_kernel_element(x, [&]<class T>(T) {
    gpu::require(kernels::tanh(pointer<T>(y), pointer<T>(x), x.numel(), gpu.space.stream), "tanh");
  });
  gpu.done(Work::activation);
}

void tanh_backward_with_bias(const Gpu& gpu, const Tensor& dx, const Tensor& d_bias,
                             const Tensor& dy, const Tensor& y, bool accumulate) {
  with_kernel_element(y, [&]<class T>(T) {
    const kernels::TanhBackward<T> op{y.size(0),     y.size(1),      pointer<T>(dy),
                                      pointer<T>(y), pointer<T>(dx), pointer<float>(d_bias),
                                      accumulate};
    gpu::require(kernels::tanh_backward(op, gpu.fold, gpu.space.stream), "tanh backward");
  });
  gpu.done(Work::activation);
}

}  // namespace trainx::operations::cuda
