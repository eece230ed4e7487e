// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/value_loss/value_loss.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void value_loss(ValueLossKind kind, const LossTo& to, const Tensor& logits, const Tensor& targets);
void value_loss_with_gradient(ValueLossKind kind, const LossTo& to, const Tensor& logits,
                              const Tensor& targets, LossSeed seed);
}  // namespace cpu

namespace cuda {
void value_loss(const Gpu& gpu, ValueLossKind kind, const LossTo& to, const Tensor& logits,
                const Tensor& targets);
void value_loss_with_gradient(const Gpu& gpu, ValueLossKind kind, const LossTo& to,
                              const Tensor& logits, const Tensor& targets, LossSeed seed);
}  // namespace cuda

}  // namespace trainx::operations
