#pragma once
#include "model/block_context.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/linear/linear.hpp"

namespace trainx::model {

/// Weight gradient and, where `d_bias` is defined, bias gradient of a linear layer with d_output[N,
/// out], input[N, in]. `cast`: the slot for operands in fp32.
inline void linear_gradients(const BlockContext& c, const Tensor& d_weight, const Tensor& d_bias,
                             program::Slot cast, const Tensor& d_output, const Tensor& input,
                             bool accumulate) {
  operations::linear_backward_weight(d_weight, d_output, input, accumulate,
                                     c.has(cast) ? c[cast] : Tensor());
  if (d_bias.defined()) operations::column_sum(d_bias, d_output, accumulate);
}

}  // namespace trainx::model
