#include "kernels/loss/value_loss.hpp"

namespace trainx::kernels {

template <class T>
void value_loss_reference(const ValueLoss<T>& op, const LossSums& sums) {
  const double factor = op.loss_scale ? op.factor * *op.loss_scale : op.factor,
               columns = static_cast<double>(op.columns);
  double sum = 0, count = 0;
  for (std::int64_t r = 0; r < op.rows; ++r) {
    T* const x = op.logits + r * op.columns;
    const float* const target = op.targets + r * op.columns;
    const bool has_target = !std::isnan(target[0]);
    double loss = 0;
    for (std::int64_t k = 0; k < op.columns; ++k) {
      const ValueLossAt at = has_target ? value_loss_at(op.binary, widened(x[k]), target[k])
                                        : ValueLossAt{0, 0};
      loss += at.loss;
      if (op.with_gradient) narrow(static_cast<float>(at.slope / columns * factor), x[k]);
    }
    sum += loss / columns;
    count += has_target;
  }
  *sums.loss_sum = (sums.accumulate ? *sums.loss_sum : 0.0) + sum;
  *sums.target_count = (sums.accumulate ? *sums.target_count : 0.0) + count;
}
template void value_loss_reference(const ValueLoss<float>&, const LossSums&);
template void value_loss_reference(const ValueLoss<Bf16>&, const LossSums&);
template void value_loss_reference(const ValueLoss<Fp16>&, const LossSums&);

}  // namespace trainx::kernels
