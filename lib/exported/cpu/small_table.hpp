#pragma once
#include <ATen/core/Tensor.h>

namespace trainx::exported::cpu {

/// Whether every row of the table is read so often that `small_table_rows` is faster.
bool is_small_table(const at::Tensor& table, const at::Tensor& ids);

/// table[ids] of table[R, C] in fp32 and ids (i64), with the gradient of the table: biases by
/// distance, of which a few rows are read once a pair of tokens.
at::Tensor small_table_rows(const at::Tensor& table, const at::Tensor& ids);

}  // namespace trainx::exported::cpu
