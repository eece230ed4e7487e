#include "kernels/random/dropout.hpp"
#include "operations/common/launch.hpp"
#include "operations/dropout/dropout_backends.hpp"

namespace trainx::operations::cuda {

void drop_out(const Gpu& gpu, const Tensor& out, const Tensor& x, const Dropout& dropout) {
  with_kernel_element(x, [&]<class T>(T) {
    const kernels::DropoutRows rows{dropout.positions, dropout.length, x.size(1), dropout.first_row,
                                    x.size(0)};
    gpu::require(kernels::dropout(pointer<T>(out), pointer<T>(x), rows, fused(dropout).key,
                                  gpu.space.stream),
                 "dropout");
  });
  gpu.done(Work::dropout);
}

}  // namespace trainx::operations::cuda
