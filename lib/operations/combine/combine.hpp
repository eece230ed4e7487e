// Experts' rows back to tokens (combine_spec.hpp).
#pragma once
#include "operations/combine/combine_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// Combine's operands: rows[N * k, H], places[N, k]; weights[N, k], shared[N, H] and gate[N, 1] or
/// undefined.
struct CombineParts {
  Tensor rows, weights, places, shared, gate;
  bool sparse = false;  // places may be below 0
};
void combine(const Tensor& y, const CombineParts& of);
/// Gradients of the parts in `to`; undefined: not wanted. Of `of` it reads the weights for the
/// rows' gradient and the rows for that of the weights, the gate for that of `shared`, and both of
/// these for the gate's.
void combine_backward(const CombineParts& to, const Tensor& dy, const CombineParts& of);

}  // namespace trainx::operations
