#include "operations/value_loss/value_loss.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/value_loss/value_loss_backends.hpp"

namespace trainx::operations {

void value_loss(ValueLossKind kind, const LossTo& to, const Tensor& logits, const Tensor& targets) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(logits)) return cuda::value_loss(*gpu, kind, to, logits, targets);
  return cpu::value_loss(kind, to, logits, targets);
}

void value_loss_with_gradient(ValueLossKind kind, const LossTo& to, const Tensor& logits,
                              const Tensor& targets, LossSeed seed) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(logits))
      return cuda::value_loss_with_gradient(*gpu, kind, to, logits, targets, seed);
  return cpu::value_loss_with_gradient(kind, to, logits, targets, seed);
}

}  // namespace trainx::operations
