#include "core/hopper_kernels.hpp"
#include "kernels/experts/expert_bias.hpp"
#include "kernels/experts/grouped_linear.hpp"
#include "kernels/experts/hopper/grouped_hopper.hpp"
#include "operations/common/launch.hpp"
#include "operations/grouped_linear/grouped_linear_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::GroupedSizes grouped_sizes(const Tensor& offsets, std::int64_t rows, std::int64_t in,
                                    std::int64_t out) {
  return {rows, in, out, offsets.numel() - 1, pointer<const std::int32_t>(offsets)};
}

/// By kernels for Hopper? `columns`: of the result.
template <class... Pointers>
bool by_hopper(const Gpu& gpu, DType dtype, std::int64_t columns, std::int64_t other,
               const Pointers*... pointers) {
  const int capability = gpu.attention ? gpu.attention->compute_capability() : 0;
  return is_by_hopper(ExpertProduct{capability, dtype, columns, other}) &&
         (is_aligned16(pointers) && ...);
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
    if constexpr (has_hopper_kernels && sizeof(T) == 2)
      if (by_hopper(gpu, x.dtype, sizes.out, sizes.in, op.x, op.weight, op.y))
        return gpu::require(kernels::hopper::grouped_linear(op, gpu.space.stream),
                            "products of experts");
    gpu::require(kernels::grouped_linear(op, gpu.space.stream), "products of experts");
  });
  grouped_done(gpu, "experts", sizes, x.dtype);
}

void add_expert_bias(const Gpu& gpu, const Tensor& y, const Tensor& bias, const Tensor& offsets) {
  with_kernel_element(y, [&]<class T>(T) {
    const kernels::ExpertBias<T> op{grouped_sizes(offsets, y.size(0), 0, y.size(1)),
                                    pointer<T>(bias), pointer<T>(y)};
    gpu::require(kernels::expert_bias(op, gpu.space.stream), "biases of experts");
  });
  gpu.done(Work::sum);
}

void grouped_linear_backward_bias(const Gpu& gpu, const Tensor& d_bias, const Tensor& dy,
                                  const Tensor& offsets, bool accumulate) {
  with_kernel_element(dy, [&]<class T>(T) {
    const kernels::ExpertBiasGradient<T> op{grouped_sizes(offsets, dy.size(0), 0, dy.size(1)),
                                            pointer<T>(dy), pointer<float>(d_bias), accumulate};
    gpu::require(kernels::expert_bias_gradient(op, gpu.space.stream),
                 "gradients of experts' biases");
  });
  gpu.done(Work::sum);
}

void grouped_linear_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& dy,
                                   const Tensor& weight, const Tensor& offsets) {
  const auto sizes = grouped_sizes(offsets, dx.size(0), dx.size(1), dy.size(1));
  with_kernel_element(dx, [&]<class T>(T) {
    const kernels::GroupedLinearBackwardInput<T> op{sizes, pointer<T>(dy), pointer<T>(weight),
                                                    pointer<T>(dx)};
    if constexpr (has_hopper_kernels && sizeof(T) == 2)
      if (by_hopper(gpu, dx.dtype, sizes.in, sizes.out, op.dy, op.weight, op.dx))
        return gpu::require(kernels::hopper::grouped_linear_backward_input(op, gpu.space.stream),
                            "products of experts backward");
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
    if constexpr (has_hopper_kernels && sizeof(T) == 2)
      if (by_hopper(gpu, x.dtype, sizes.in, sizes.out, op.dy, op.x, op.d_weight))
        return gpu::require(kernels::hopper::grouped_linear_backward_weight(op, gpu.space.stream),
                            "gradients of experts' weights");
    gpu::require(kernels::grouped_linear_backward_weight(op, gpu.space.stream),
                 "gradients of experts' weights");
  });
  grouped_done(gpu, "experts' weight gradient", sizes, x.dtype);
}

}  // namespace trainx::operations::cuda
