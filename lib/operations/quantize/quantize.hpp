// Casts to fp8 with a scale for each tensor, or for parts of it (Fp8Granularity).
//
// A scale is made of the values that share it ("current scaling"). That of a tensor makes its
// largest value the largest of the format; those of vectors and blocks are the smallest powers of
// two that leave no value beyond it. So nothing saturates. At most 2^-10 (e4m3) or 2^-17 (e5m2) of
// a scale is rounded to zero.
#pragma once
#include "operations/quantize/fp8.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// What products multiply: values (u8 [rows, columns]: the bits of an fp8 number each) times their
/// scale (f32, fp8_scale_type).
struct Fp8Copy {
  Tensor values, scale;
  Fp8 format = Fp8::e4m3;
  Fp8Granularity granularity = Fp8Granularity::tensor;
};

/// A tensor in fp8, for products that sum over its columns, and over its rows. Of each copy either
/// tensor may be undefined: the copy is not there.
struct Fp8Tensor {
  Tensor values, scale;
  Fp8 format = Fp8::e4m3;
  // u8 [columns, rows]. tensor, on GPUs: the same values and scale. block: the same values, whose
  // scales are transposed_scale. vector: a cast of its own, of vectors of columns.
  Tensor transposed = {};
  Fp8Granularity granularity = Fp8Granularity::tensor;
  Tensor transposed_scale = {};

  Fp8Copy by_rows() const { return {values, scale, format, granularity}; }
  Fp8Copy by_columns() const {
    return {transposed, granularity == Fp8Granularity::tensor ? scale : transposed_scale, format,
            granularity};
  }
};

/// What is cast of x, and what is told of it.
struct Fp8Cast {
  // this function of x, or where `pre` is there its derivative at `pre` times x: on GPUs
  Activation activation = Activation::none;
  // as Quantize has it; of a gradient, those of both halves of `pre` side by side
  bool gated = false;
  Tensor pre = {};
  // f32 [columns] = or += the column sums of what is cast, as it was before: of gradients, on GPUs
  Tensor column_sums = {};
  bool accumulate = false;
  Tensor counts = {};  // f64 [fp8_count_kinds], added to
  // of a tensor that is in parts: its scale is there already
  bool scale_is_made = false;
  // of delayed scaling: the tensor's range, f64 [1] (0: not known yet), and its exponents, f64
  // [fp8_exponents], added to
  Tensor known = {}, exponents = {};
};

/// scale = max|x| / largest(format), at least 2^-126; NaN where x holds a NaN or an infinity, which
/// products then show. values, of x.numel() elements, = x * (1 / scale), rounded to nearest even.
/// Either copy of the values may be undefined: it is not made. A CPU makes one alone with a scale
/// of a tensor. Scales of vectors and blocks take e4m3 alone, on GPUs of bf16.
void quantize(const Fp8Tensor& to, const Tensor& x, const Fp8Cast& how = {});

/// to[columns, rows] = values[rows, columns]: u8, on a GPU.
void transpose_fp8(const Tensor& to, const Tensor& values);

/// What is known and counted of a tensor. `ranges`, `counts`: f64 [classes, blocks, tensors, ...]
/// as scalars of the graph have them; undefined: not known, or not counted. `tensor`: which of the
/// class, in all blocks.
Fp8Cast fp8_cast(const Tensor& ranges, const Tensor& counts, Fp8Class of, std::int64_t tensor);
class OpContext;
/// Where the instruction at hand counts that tensor's elements, and what it knows of its scale.
/// `counts`: it counts, for the first time in a micro-step.
Fp8Cast fp8_cast(const OpContext& c, Fp8Site site, bool counts = true);

}  // namespace trainx::operations
