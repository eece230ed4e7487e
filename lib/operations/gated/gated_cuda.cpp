#include "kernels/activation/gated.hpp"
#include "operations/activation/activation_kind_cuda.hpp"
#include "operations/common/launch.hpp"
#include "operations/gated/gated_backends.hpp"

namespace trainx::operations::cuda {

void gated(const Gpu& gpu, Activation f, const Tensor& y, const Tensor& x) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::Gated<T> op{x.size(0), x.size(1) / 2, pointer<T>(x), pointer<T>(y)};
    gpu::require(kernels::gated(op, kind_of(f), gpu.space.stream), "gated activation");
  });
  gpu.done(Work::activation);
}

void gated_backward(const Gpu& gpu, Activation f, const Tensor& dx, const Tensor& dy,
                    const Tensor& x) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::GatedBackward<T> op{x.size(0), x.size(1) / 2, pointer<T>(dy), pointer<T>(x),
                                       pointer<T>(dx)};
    gpu::require(kernels::gated_backward(op, kind_of(f), gpu.space.stream),
                 "gated activation backward");
  });
  gpu.done(Work::activation);
}

}  // namespace trainx::operations::cuda
