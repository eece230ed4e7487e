#include "kernels/activation/pointwise.hpp"
#include "operations/activation/activation_backends.hpp"
#include "operations/activation/activation_kind_cuda.hpp"
#include "operations/common/launch.hpp"

namespace trainx::operations::cuda {

void activate(const Gpu& gpu, Activation f, const Tensor& y, const Tensor& x) {
  with_kernel_element(x, [&]<class T>(T) {
    gpu::require(
        kernels::pointwise(pointer<T>(y), pointer<T>(x), x.numel(), kind_of(f), gpu.space.stream),
        "activation");
  });
  gpu.done(Work::activation);
}

void activate_backward(const Gpu& gpu, Activation f, const Tensor& dx, const Tensor& d_bias,
                       const Tensor& dy, const Tensor& kept, bool accumulate) {
  with_kernel_element(kept, [&]<class T>(T) {
    const kernels::PointwiseBackward<T> op{kept.size(0),     kept.size(1),   pointer<T>(dy),
                                           pointer<T>(kept), pointer<T>(dx), pointer<float>(d_bias),
                                           accumulate};
    gpu::require(kernels::pointwise_backward(op, kind_of(f), gpu.fold, gpu.space.stream),
                 "activation backward");
  });
  gpu.done(Work::activation);
}

}  // namespace trainx::operations::cuda
