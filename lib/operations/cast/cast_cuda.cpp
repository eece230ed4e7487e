#include "operations/cast/cast_on_stream.hpp"
#include "kernels/cast/cast.hpp"
#include "kernels/reduce/add.hpp"
#include "operations/common/launch.hpp"
#include "operations/cast/cast_backends.hpp"
#include <type_traits>

namespace trainx::operations::cuda {
namespace {

void require_alike(const Tensor& to, const Tensor& from) {
  if (to.numel() != from.numel() || !to.is_contiguous() || !from.is_contiguous())
    throw InternalError("a cast of " + to_string(from.dims) + " to " + to_string(to.dims) +
                        " on a GPU");
}

}  // namespace

void cast(const Tensor& to, const Tensor& from, cudaStream_t stream) {
  require_alike(to, from);
  with_kernel_element(to, [&]<class To>(To) {
    with_kernel_element(from, [&]<class From>(From) {
      if constexpr (std::is_same_v<To, From>)
        gpu::require(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(to.nbytes()),
                                     cudaMemcpyDeviceToDevice, stream),
                     "copy");
      else
        gpu::require(kernels::cast(pointer<To>(to), pointer<const From>(from), to.numel(), stream),
                     "cast");
    });
  });
}

void add(const Tensor& to, const Tensor& from, cudaStream_t stream) {
  require_alike(to, from);
  if (to.dtype == DType::f64 && from.dtype == DType::f64)  // parts of a norm
    return gpu::require(
        kernels::add(pointer<double>(to), pointer<const double>(from), to.numel(), stream), "add");
  if (to.dtype != DType::f32) throw InternalError("a sum that is not of fp32");
  with_kernel_element(from, [&]<class From>(From) {
    if constexpr (std::is_same_v<From, kernels::Fp16>)
      throw InternalError("a sum of fp16");
    else
      gpu::require(kernels::add(pointer<float>(to), pointer<const From>(from), to.numel(), stream),
                   "add");
  });
}

void cast(const Gpu& gpu, const Tensor& to, const Tensor& from) {
  cast(to, from, gpu.space.stream);
  gpu.done(Work::copy);
}

void add(const Gpu& gpu, const Tensor& to, const Tensor& from) {
  add(to, from, gpu.space.stream);
  gpu.done(Work::copy);
}

}  // namespace trainx::operations::cuda
