#include "kernels/rows/mean_pool.hpp"
#include "operations/common/launch.hpp"
#include "operations/mean_pool/mean_pool_backends.hpp"

namespace trainx::operations::cuda {
namespace {

template <class T>
kernels::MeanPool<T> pool_of(const Tensor& rows, const Tensor& pooled, const Tensor& lengths) {
  const std::int64_t samples = lengths.numel();
  return {samples,          rows.size(0) / samples, rows.size(1), pointer<std::int32_t>(lengths),
          pointer<T>(rows), pointer<T>(pooled)};
}

}  // namespace

void mean_pool(const Gpu& gpu, const Tensor& out, const Tensor& x, const Tensor& lengths) {
  with_kernel_element(x, [&]<class T>(T) {
    gpu::require(kernels::mean_pool(pool_of<T>(x, out, lengths), gpu.space.stream),
                 "means of rows");
  });
  gpu.done(Work::norm);
}

void mean_pool_backward(const Gpu& gpu, const Tensor& dx, const Tensor& d_out,
                        const Tensor& lengths) {
  with_kernel_element(dx, [&]<class T>(T) {
    gpu::require(kernels::mean_pool_backward(pool_of<T>(dx, d_out, lengths), gpu.space.stream),
                 "gradients of means of rows");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
