#pragma once
#include "operations/rotary/rotary_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// y[N, columns] of x[N, columns], rows of samples of r.length tokens, the first at position
/// `past`; starts i32 [N] or undefined. `y` may be `x`.
void rotate(const Rotary& r, const Tensor& y, const Tensor& x, const Tensor& starts,
            std::int64_t past);
/// dx of dy: turned back, and zero where x was cut. `dx` may be `dy`.
void rotate_backward(const Rotary& r, const Tensor& dx, const Tensor& dy, const Tensor& x,
                     const Tensor& starts);

}  // namespace trainx::operations
