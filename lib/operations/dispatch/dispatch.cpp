#include "operations/dispatch/dispatch.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/dispatch/dispatch_backends.hpp"

namespace trainx::operations {

void sort_by_expert(const Tensor& places, const Tensor& offsets, const Tensor& indices,
                    std::int64_t experts, const ExpertChoices& choices) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(indices))
      return cuda::sort_by_expert(*gpu, places, offsets, indices, experts, choices);
  return cpu::sort_by_expert(places, offsets, indices, experts, choices);
}

void dispatch_rows(const Tensor& rows, const Tensor& x, const Tensor& places) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(rows)) return cuda::dispatch_rows(*gpu, rows, x, places);
  return cpu::dispatch_rows(rows, x, places);
}

void dispatch_rows_backward(const Tensor& dx, const Tensor& d_rows, const Tensor& places,
                            const Tensor& addend, bool sparse) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::dispatch_rows_backward(*gpu, dx, d_rows, places, addend, sparse);
  return cpu::dispatch_rows_backward(dx, d_rows, places, addend);
}

}  // namespace trainx::operations
