#pragma once
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations {

/// y[N, n] = x[:, first:first + n] of x[N, C].
void take_columns(const Tensor& y, const Tensor& x, std::int64_t first);
/// dx[N, C] of dy[N, n], plus `addend` (undefined: 0), which may be dx.
void take_columns_backward(const Tensor& dx, const Tensor& dy, std::int64_t first,
                           const Tensor& addend);

/// Columns of rows, from one on.
struct ColumnsFrom {
  Tensor of;
  std::int64_t first = 0;
};
/// to[:, first:first + count] = from[:, first:first + count], each with a first one of its own.
void copy_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count);
/// The same with +=.
void add_columns_of_rows(const ColumnsFrom& to, const ColumnsFrom& from, std::int64_t count);

}  // namespace trainx::operations
