// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void scatter_rows(const Tensor& to, const Tensor& from, const Tensor& rows);
void clear(const Tensor& x);
void first_rows(const Tensor& rows, std::int64_t length);
std::int64_t select_targets(const Tensor& rows, const Tensor& row_targets, const Tensor& targets);
}  // namespace cpu

namespace cuda {
void scatter_rows(const Gpu& gpu, const Tensor& to, const Tensor& from, const Tensor& rows);
void clear(const Gpu& gpu, const Tensor& x);
void first_rows(const Gpu& gpu, const Tensor& rows, std::int64_t length);
std::int64_t select_targets(const Gpu& gpu, const Tensor& rows, const Tensor& row_targets,
                            const Tensor& targets);
}  // namespace cuda

}  // namespace trainx::operations
