#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/logit_sums/logit_sums_backends.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations {

void cpu::logit_sums(const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                     const LogitPart& part) {
  const TimedWork timed(Work::loss);
  with_element(logits, [&]<class T>(T) {
    const auto op = logit_sums_of<T>(numbers, logits, targets, part);
    tensor::parallel_for(0, op.rows, row_grain(op.columns),
                         [&](std::int64_t begin, std::int64_t end) {
                           kernels::logit_sums_reference(op, begin, end);
                         });
  });
}

void cpu::logit_sums_backward(const Tensor& d_logits, const Tensor& d_numbers,
                              const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                              const LogitPart& part) {
  const TimedWork timed(Work::loss);
  with_element(logits, [&]<class T>(T) {
    const kernels::LogitSumsGradient<T> op{logit_sums_of<T>(numbers, logits, targets, part),
                                           data<const float>(d_numbers), data<T>(d_logits)};
    tensor::parallel_for(0, op.of.rows, row_grain(op.of.columns),
                         [&](std::int64_t begin, std::int64_t end) {
                           kernels::logit_sums_gradient_reference(op, begin, end);
                         });
  });
}

void cpu::part_loss(const PartLossTo& to, const Tensor& all, const Tensor& targets,
                    const PartLossForm& form) {
  const TimedWork timed(Work::loss);
  kernels::part_loss_reference(part_loss_of(all, targets, form), part_loss_sums(to));
}

void cpu::part_loss_backward(const Tensor& d_numbers, const Tensor& all, const Tensor& targets,
                             const PartLossForm& form, std::int64_t place, const LossSeed& seed) {
  const TimedWork timed(Work::loss);
  kernels::part_loss_gradient_reference(
      {part_loss_of(all, targets, form), place, seed.factor, seed.scale, data<float>(d_numbers)});
}

}  // namespace trainx::operations
