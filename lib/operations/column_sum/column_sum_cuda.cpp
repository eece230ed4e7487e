#include "kernels/reduce/column_sum.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/common/launch.hpp"

namespace trainx::operations::cuda {

void column_sum(const Gpu& gpu, const Tensor& sums, const Tensor& x, bool accumulate) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::ColumnSum<T> op{x.size(0), x.size(1), pointer<T>(x), pointer<float>(sums),
                                   accumulate};
    gpu::require(kernels::column_sum(op, gpu.fold, gpu.space.stream), "column sum");
  });
  gpu.done(Work::sum);
}

}  // namespace trainx::operations::cuda
