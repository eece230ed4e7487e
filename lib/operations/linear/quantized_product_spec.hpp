#pragma once
#include "operations/linear/fp8_weight_casts_spec.hpp"
#include "operations/quantize/fp8_scaling_spec.hpp"
#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

/// Of a linear layer all of whose three products have operands in fp8: its input is what Quantize
/// made, weights are cast to e4m3 and output gradients to e5m2, with blocks to e4m3, for the
/// products alone. A GPU, and a CPU with blocks, multiplies operands that lie along the dimension
/// that is summed:
///   y = x weight^T      x [N, in],     weight [out, in]
///   dx = dy weight      dy [N, out],   weight^T [in, out]
///   dw = dy^T x         dy^T [out, N], x^T [in, N]
struct QuantizedProduct {
  int number = 0;  // Fp8Site's, of the weights and of the gradients of a block
  Fp8Scaling scaling = Fp8Scaling::current;
  Fp8WeightCasts weight_casts = Fp8WeightCasts::in_each_use;
  // its casts are counted nowhere: with delayed scaling, too, it has the scale of its own values,
  // however often it is cast
  bool weight_is_frozen = false;

  bool operator==(const QuantizedProduct&) const = default;

  bool in_blocks() const { return scaling == Fp8Scaling::blocks; }
  bool casts_once_a_run() const { return weight_casts == Fp8WeightCasts::once_a_run; }
  /// All instructions of a step read the same copies.
  bool casts_once() const {
    return weight_casts == Fp8WeightCasts::once_a_step || casts_once_a_run();
  }
  /// The weight is in fp8 when it arrives.
  bool takes_fp8_weight() const { return weight_casts == Fp8WeightCasts::before_gathers; }
  /// Of x and of output gradients.
  Fp8Granularity granularity() const {
    return in_blocks() ? Fp8Granularity::vector : Fp8Granularity::tensor;
  }
  Fp8Granularity weight_granularity() const {
    return in_blocks() ? Fp8Granularity::block : Fp8Granularity::tensor;
  }
};

}  // namespace trainx::operations
