// Elements in another type, and sums of tensors of two types.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// to = from, of the same dims, rounded to nearest where `to` is narrower; a copy where both have
/// the same type. On a GPU both are contiguous.
void cast(const Tensor& to, const Tensor& from);
/// to (f32, or f64 as `from`) += from. On a GPU both are contiguous.
void add(const Tensor& to, const Tensor& from);

}  // namespace trainx::operations
