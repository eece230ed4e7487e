// Casts to fp8 with a scale for each tensor.
//
// The scale is made of the tensor itself ("current scaling"): its largest value becomes the largest
// of the format, so nothing saturates. At most 2^-10 (e4m3) or 2^-17 (e5m2) of a scale is rounded
// to zero.
#pragma once
#include "operations/quantize/fp8.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// What products multiply: values (u8: the bits of an fp8 number each) times scale (f32 [1]).
struct Fp8Tensor {
  Tensor values, scale;
  Fp8 format = Fp8::e4m3;
  Tensor transposed = {};  // u8 [columns, rows]: the same values, on GPUs
};

/// scale = max|x| / largest(format), at least 2^-126; NaN where x holds a NaN or an infinity, which
/// products then show. values, of x.numel() elements, = x / scale, rounded to nearest even. On a
/// GPU either copy of the values may be undefined: it is not made.
void quantize(const Fp8Tensor& to, const Tensor& x);

}  // namespace trainx::operations
