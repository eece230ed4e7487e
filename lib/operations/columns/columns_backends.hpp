// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/columns/columns.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void take_columns(const Tensor& y, const Tensor& x, std::int64_t first);
void take_columns_backward(const Tensor& dx, const Tensor& dy, std::int64_t first,
                           const Tensor& addend);
void copy_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count);
void add_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count);
}  // namespace cpu

namespace cuda {
void take_columns(const Gpu& gpu, const Tensor& y, const Tensor& x, std::int64_t first);
void take_columns_backward(const Gpu& gpu, const Tensor& dx, const Tensor& dy, std::int64_t first,
                           const Tensor& addend);
void copy_columns_of_rows(const Gpu& gpu, const ColumnsFrom& to, const ColumnsFrom& from,
                          std::int64_t count);
void add_columns_of_rows(const Gpu& gpu, const ColumnsFrom& to, const ColumnsFrom& from,
                         std::int64_t count);
}  // namespace cuda

}  // namespace trainx::operations
