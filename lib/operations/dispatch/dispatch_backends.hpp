// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/dispatch/dispatch.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void sort_by_expert(const Tensor& places, const Tensor& offsets, const Tensor& indices,
                    std::int64_t experts, const ExpertChoices& choices);
void dispatch_rows(const Tensor& rows, const Tensor& x, const Tensor& places);
void dispatch_rows_backward(const Tensor& dx, const Tensor& d_rows, const Tensor& places,
                            const Tensor& addend);
}  // namespace cpu

namespace cuda {
void sort_by_expert(const Gpu& gpu, const Tensor& places, const Tensor& offsets,
                    const Tensor& indices, std::int64_t experts, const ExpertChoices& choices);
void dispatch_rows(const Gpu& gpu, const Tensor& rows, const Tensor& x, const Tensor& places);
void dispatch_rows_backward(const Gpu& gpu, const Tensor& dx, const Tensor& d_rows,
                            const Tensor& places, const Tensor& addend, bool sparse);
}  // namespace cuda

}  // namespace trainx::operations
