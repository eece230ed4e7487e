#include "kernels/random/dropout.hpp"
#include "operations/common/launch.hpp"
#include "operations/dropout/dropout_backends.hpp"

namespace trainx::operations::cuda {

void drop_out(const Gpu& gpu, const Tensor& out, const Tensor& x, const Dropout& dropout) {
  if (!dropout)
    return gpu::require(cudaMemcpyAsync(out.data, x.data, static_cast<std::size_t>(x.nbytes()),
                                        cudaMemcpyDeviceToDevice, gpu.space.stream),
                        "copy of what dropout leaves as it is");
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::DropoutRows rows{dropout.positions,  dropout.length, x.size(1),
                                    dropout.first_row,  x.size(0),      dropout.first_column,
                                    dropout.all_columns};
    gpu::require(kernels::dropout(pointer<T>(out), pointer<T>(x), rows, fused(dropout).key,
                                  gpu.space.stream),
                 "dropout");
  });
  gpu.done(Work::dropout);
}

}  // namespace trainx::operations::cuda
