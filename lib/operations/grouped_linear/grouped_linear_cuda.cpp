#include "kernels/experts/grouped_linear.hpp"
#include "operations/common/launch.hpp"
#include "operations/grouped_linear/grouped_linear_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::GroupedSizes grouped_sizes(const Tensor& offsets, std::int64_t rows, std::int64_t in,
                                    std::int64_t out) {
  return {rows, in, out, offsets.numel() - 1, pointer<const std::int32_t>(offsets)};
}

void grouped_done(const Gpu& gpu, const char* what, const kernels::GroupedSizes& s, DType dtype) {
  if (!gpu.timeline) return;
  gpu.done(Work::matrix_product, std::string(what) + " rows " + std::to_string(s.rows) + " in " +
                                     std::to_string(s.in) + " out " + std::to_string(s.out) +
                                     " of " + std::to_string(s.experts) + " experts " +
                                     std::string(name_of(dtype)));
}

}  // namespace

void grouped_linear(const Gpu& gpu, const Tensor& y, const Tensor& x, const Tensor& weight,
                    const Tensor& offsets) {
  const auto sizes = grouped_sizes(offsets, x.size(0), x.size(1), y.size(1));
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::GroupedLinear<T> op{sizes, pointer<T>(x), pointer<T>(weight), pointer<T>(y)};
    gpu::require(kernels::grouped_linear(op, gpu.space.stream), "products of experts");
  });
  grouped_done(gpu, "experts", sizes, x.dtype);
}

void grouped_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy,
                                   const Tensor& weight, const Tensor& offsets) {
  const auto sizes = grouped_sizes(offsets, dx.size(0), dx.size(1), dy.size(1));
  with_kernel_element(dx, [&]<class T>(T) {
    const kernels::GroupedLinearBackwardInput<T> op{sizes, pointer<T>(dy), pointer<T>(weight),
                                                    pointer<T>(dx)};
    gpu::require(kernels::grouped_linear_backward_input(op, gpu.space.stream),
                 "products of experts backward");
  });
  grouped_done(gpu, "experts' input gradient", sizes, dx.dtype);
}

void grouped_linear_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Tensor& dy,
                                    const Tensor& x, const Tensor& offsets, bool accumulate,
                                    const Tensor&) {
  const auto sizes = grouped_sizes(offsets, x.size(0), x.size(1), dy.size(1));
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::GroupedLinearBackwardWeight<T> op{sizes, pointer<T>(dy), pointer<T>(x),
                                                     pointer<float>(d_weight), accumulate};
    gpu::require(kernels::grouped_linear_backward_weight(op, gpu.space.stream),
                 "gradients of experts' weights");
  });
  grouped_done(gpu, "experts' weight gradient", sizes, x.dtype);
}

}  // namespace trainx::operations::cuda
