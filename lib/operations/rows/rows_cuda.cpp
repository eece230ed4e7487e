#include "kernels/rows/copy_rows.hpp"
#include "operations/common/launch.hpp"
#include "operations/rows/rows_backends.hpp"
#include <algorithm>

namespace trainx::operations::cuda {

void scatter_rows(const Gpu& gpu, const Tensor& to, const Tensor& from, const Tensor& rows) {
  with_kernel_element(from, [&]<class T>(T) {
    const kernels::CopyRows<T> op{from.size(0), from.size(1), pointer<std::int64_t>(rows),
                                  pointer<T>(from), pointer<T>(to)};
    gpu::require(kernels::scatter_rows(op, gpu.space.stream), "rows");
  });
  gpu.done(Work::copy);
}

void clear(const Gpu& gpu, const Tensor& x) {
  gpu::require(cudaMemsetAsync(x.data, 0, static_cast<std::size_t>(x.nbytes()), gpu.space.stream),
               "zeros");
  gpu.done(Work::copy);
}

void first_rows(const Gpu& gpu, const Tensor& rows, std::int64_t length) {
  gpu::require(
      kernels::first_rows(pointer<std::int64_t>(rows), rows.size(0), length, gpu.space.stream),
      "first rows of samples");
  gpu.done(Work::scalar);
}

std::int64_t select_targets(const Gpu& gpu, const Tensor& rows, const Tensor& row_targets,
                            const Tensor& targets) {
  const std::int64_t wanted = std::min(gpu.needs.target_rows, targets.numel());
  const kernels::SelectTargets op{targets.numel(), wanted, pointer<std::int32_t>(targets),
                                  pointer<std::int64_t>(rows), pointer<std::int32_t>(row_targets)};
  gpu::require(kernels::select_targets(op, gpu.space.stream), "rows with a target");
  gpu.done(Work::copy);
  return wanted;
}

}  // namespace trainx::operations::cuda
