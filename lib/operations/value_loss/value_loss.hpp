#pragma once
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/value_loss/value_loss_spec.hpp"

namespace trainx::operations {

/// Adds to loss_sum and target_count, or overwrites them: of each row of logits[R, K] (f32; on a
/// GPU bf16 and fp16 too) the mean loss against targets[R, K] (f32), and 1. A row whose first
/// target is NaN has no target and counts nowhere.
void value_loss(ValueLossKind kind, const LossTo& to, const Tensor& logits, const Tensor& targets);
/// The same, and the logits become the gradient of the sum times the seed; 0 in rows without
/// target.
void value_loss_with_gradient(ValueLossKind kind, const LossTo& to, const Tensor& logits,
                              const Tensor& targets, LossSeed seed);

}  // namespace trainx::operations
