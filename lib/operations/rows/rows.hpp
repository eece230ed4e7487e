// Which rows of a micro-batch a head looks at.
#pragma once
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations {

/// x = 0, whatever its type.
void clear(const Tensor& x);

/// rows[b] (i64 [B]) = b * length: the first row of each sample.
void first_rows(const Tensor& rows, std::int64_t length);

/// The rows that have a target, in order, with it: rows (i64 [N]) and row_targets (i32 [N]) of
/// targets (i32 [B, T], N = B T). Returns how many entries count. A GPU is not waited for: the
/// answer is what is known before of the batch, at least as many as have a target (Gpu::needs); the
/// entries beyond those are -1 and no_target.
std::int64_t select_targets(const Tensor& rows, const Tensor& row_targets, const Tensor& targets);

/// to[rows[r], C] = from[r, C]; rows (i64) of `to` that are not named stay as they are. Negative
/// ones, which there are on a GPU alone, are skipped.
void scatter_rows(const Tensor& to, const Tensor& from, const Tensor& rows);

}  // namespace trainx::operations
