// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "kernels/loss/logit_sums.hpp"
#include "operations/logit_sums/logit_sums.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

template <class T>
kernels::LogitSums<T> logit_sums_of(const Tensor& numbers, const Tensor& logits,
                                    const Tensor& targets, const LogitPart& part) {
  return {logits.size(0),      logits.size(1),       part.classes,
          part.first,          logits.as<const T>(), targets.as<const std::int32_t>(),
          numbers.as<float>(), part.change};
}
inline kernels::PartLoss part_loss_of(const Tensor& all, const Tensor& targets,
                                      const PartLossForm& form) {
  return {all.size(1),
          all.size(0),
          form.classes,
          all.as<const float>(),
          targets.as<const std::int32_t>(),
          form.smoothing,
          form.z_loss};
}
inline kernels::PartLossSums part_loss_sums(const PartLossTo& to) {
  return {to.loss_sum.as<double>(), to.target_count.as<double>(),
          to.correct.defined() ? to.correct.as<double>() : nullptr, to.accumulate};
}

namespace cpu {
void logit_sums(const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                const LogitPart& part);
void logit_sums_backward(const Tensor& d_logits, const Tensor& d_numbers, const Tensor& numbers,
                         const Tensor& logits, const Tensor& targets, const LogitPart& part);
void part_loss(const PartLossTo& to, const Tensor& all, const Tensor& targets,
               const PartLossForm& form);
void part_loss_backward(const Tensor& d_numbers, const Tensor& all, const Tensor& targets,
                        const PartLossForm& form, std::int64_t place, const LossSeed& seed);
}  // namespace cpu

namespace cuda {
void logit_sums(const Gpu& gpu, const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                const LogitPart& part);
void logit_sums_backward(const Gpu& gpu, const Tensor& d_logits, const Tensor& d_numbers,
                         const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                         const LogitPart& part);
void part_loss(const Gpu& gpu, const PartLossTo& to, const Tensor& all, const Tensor& targets,
               const PartLossForm& form);
void part_loss_backward(const Gpu& gpu, const Tensor& d_numbers, const Tensor& all,
                        const Tensor& targets, const PartLossForm& form, std::int64_t place,
                        const LossSeed& seed);
}  // namespace cuda

}  // namespace trainx::operations
