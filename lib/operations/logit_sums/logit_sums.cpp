#include "operations/logit_sums/logit_sums.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/logit_sums/logit_sums_backends.hpp"

namespace trainx::operations {

void logit_sums(const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                const LogitPart& part) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(numbers))
      return cuda::logit_sums(*gpu, numbers, logits, targets, part);
  return cpu::logit_sums(numbers, logits, targets, part);
}

void logit_sums_backward(const Tensor& d_logits, const Tensor& d_numbers, const Tensor& numbers,
                         const Tensor& logits, const Tensor& targets, const LogitPart& part) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(numbers))
      return cuda::logit_sums_backward(*gpu, d_logits, d_numbers, numbers, logits, targets, part);
  return cpu::logit_sums_backward(d_logits, d_numbers, numbers, logits, targets, part);
}

void part_loss(const PartLossTo& to, const Tensor& all, const Tensor& targets,
               const PartLossForm& form) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(all)) return cuda::part_loss(*gpu, to, all, targets, form);
  return cpu::part_loss(to, all, targets, form);
}

void part_loss_backward(const Tensor& d_numbers, const Tensor& all, const Tensor& targets,
                        const PartLossForm& form, std::int64_t place, const LossSeed& seed) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(all))
      return cuda::part_loss_backward(*gpu, d_numbers, all, targets, form, place, seed);
  return cpu::part_loss_backward(d_numbers, all, targets, form, place, seed);
}

}  // namespace trainx::operations
