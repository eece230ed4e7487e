#pragma once
#include <cstdint>

namespace trainx {

/// Elements of the largest head whose attention cuDNN computes forward and backward, in 16 bits, on
/// a GPU of this compute capability (90: 9.0; 0: not known). Source: the support matrix of cuDNN
/// 9.18's attention.
constexpr std::int64_t largest_cudnn_head(int compute_capability) {
  return compute_capability == 90 ? 256 : 128;
}

}  // namespace trainx
