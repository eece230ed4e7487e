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

/// What is cast of x, and what is told of it.
struct Fp8Cast {
  // this function of x, or where `pre` is there its derivative at `pre` times x: on GPUs
  Activation activation = Activation::none;
  bool gated = false;  // as Quantize has it
  Tensor pre = {};
  // f32 [columns] = or += the column sums of what is cast, as it was before: of gradients, on GPUs
  Tensor column_sums = {};
  bool accumulate = false;
  Tensor counts = {};  // f64 [fp8_count_kinds], added to
  // of delayed scaling: the tensor's range, f64 [1] (0: not known yet), and its exponents, f64
  // [fp8_exponents], added to
  Tensor known = {}, exponents = {};
};

/// scale = max|x| / largest(format), at least 2^-126; NaN where x holds a NaN or an infinity, which
/// products then show. values, of x.numel() elements, = x * (1 / scale), rounded to nearest even.
/// On a GPU either copy of the values may be undefined: it is not made.
void quantize(const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how = {});

class OpContext;
/// Where the instruction at hand counts that tensor's elements, and what it knows of its scale.
/// `counts`: it counts, for the first time in a micro-step.
Fp8Cast fp8_cast(const OpContext& c, Fp8Site site, bool counts = true);

}  // namespace trainx::operations
