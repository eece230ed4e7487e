// Tokens' rows by expert (dispatch_spec.hpp).
#pragma once
#include "operations/dispatch/dispatch_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct ExpertChoices {
  std::int64_t capacity = 0;  // most rows of an expert; 0: any number
  bool sparse = false;        // indices below 0 are no choices
};

/// Where each of a token's rows lies once they are sorted by expert, and where each expert's begin.
/// One of both may be undefined: it is not wanted. InternalError for an index that is no expert's,
/// where the host sees the indices.
void sort_by_expert(const Tensor& places, const Tensor& offsets, const Tensor& indices,
                    std::int64_t experts, const ExpertChoices& choices = {});
/// rows[N * k, H] of x[N, H].
void dispatch_rows(const Tensor& rows, const Tensor& x, const Tensor& places);
/// dx[N, H]: the sum over a token's rows, plus `addend` where given, which may be dx. `sparse`:
/// places may be below 0.
void dispatch_rows_backward(const Tensor& dx, const Tensor& d_rows, const Tensor& places,
                            const Tensor& addend, bool sparse = false);

}  // namespace trainx::operations
