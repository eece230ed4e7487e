#pragma once
#include <ATen/core/ivalue.h>
#include <vector>

namespace trainx::exported::cpu {

/// softmax(scale q k^T + bias) v in fp32, with the gradient of the bias, from the arguments of
/// LibTorch's scaled_dot_product_attention to its result. False: nothing is done, for these are
/// others than it takes.
bool attend_with_bias(std::vector<c10::IValue>& stack);

}  // namespace trainx::exported::cpu
