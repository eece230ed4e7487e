// Which rows of a micro-batch a head looks at.
#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace trainx::ops {

/// x = 0, whatever its type.
void clear(const at::Tensor& x);

/// rows[b] (i64 [B]) = b * length: the first row of each sample.
void first_rows(const at::Tensor& rows, std::int64_t length);

/// The rows that have a target, in order, with it: rows (i64 [N]) and row_targets (i32 [N]) of
/// targets (i32 [B, T], N = B T). Returns how many entries count. A GPU is not waited for: the
/// answer is what is known before of the batch, at least as many as have a target (Gpu::needs); the
/// entries beyond those are -1 and no_target.
std::int64_t select_targets(const at::Tensor& rows, const at::Tensor& row_targets,
                            const at::Tensor& targets);

}  // namespace trainx::ops
