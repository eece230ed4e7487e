#include "kernels/loss/value_loss.hpp"
#include "operations/common/launch.hpp"
#include "operations/value_loss/value_loss_backends.hpp"

namespace trainx::operations::cuda {
namespace {

void launch(const Gpu& gpu, ValueLossKind kind, const LossTo& to, const Tensor& logits,
            const Tensor& targets, const LossSeed* seed) {
  with_kernel_element(logits, [&]<class T>(T) {
    kernels::ValueLoss<T> op;
    op.rows = logits.size(0);
    op.columns = logits.size(1);
    op.logits = pointer<T>(logits);
    op.targets = pointer<float>(targets);
    op.binary = kind == ValueLossKind::binary;
    op.with_gradient = seed != nullptr;
    if (seed) op.factor = seed->factor, op.loss_scale = seed->scale;
    gpu::require(
        kernels::value_loss(
            op, {pointer<double>(to.loss_sum), pointer<double>(to.target_count), to.accumulate},
            gpu.space.stream),
        "loss of values");
  });
  gpu.done(Work::loss);
}

}  // namespace

void value_loss(const Gpu& gpu, ValueLossKind kind, const LossTo& to, const Tensor& logits,
                const Tensor& targets) {
  launch(gpu, kind, to, logits, targets, nullptr);
}
void value_loss_with_gradient(const Gpu& gpu, ValueLossKind kind, const LossTo& to,
                              const Tensor& logits, const Tensor& targets, LossSeed seed) {
  launch(gpu, kind, to, logits, targets, &seed);
}

}  // namespace trainx::operations::cuda
