#pragma once
#include "operations/cross_entropy/cross_entropy.hpp"
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations {

/// Which classes the columns of a rank's logits are.
struct LogitPart {
  std::int64_t classes = 0, first = 0;  // so many from there on; columns beyond are padding
  LogitChange change;
};

/// numbers[R, 5] (f32, kernels::LogitNumber) of logits[R, W] and targets[R] (i32).
void logit_sums(const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                const LogitPart& part);
/// d_logits[R, W] of d_numbers[R, 5]; it may lie where the logits are.
void logit_sums_backward(const Tensor& d_logits, const Tensor& d_numbers, const Tensor& numbers,
                         const Tensor& logits, const Tensor& targets, const LogitPart& part);

/// The loss of rows by the numbers of all ranks, all[ranks, R, 5].
struct PartLossForm {
  std::int64_t classes = 0;  // of all ranks
  double smoothing = 0, z_loss = 0;
};
/// Where its sums go, f64 [1], overwritten or added to; `correct` undefined: not wanted.
struct PartLossTo {
  Tensor loss_sum, target_count, correct;
  bool accumulate = false;
};
void part_loss(const PartLossTo& to, const Tensor& all, const Tensor& targets,
               const PartLossForm& form);
/// d_numbers[R, 5] of the numbers of rank `place`.
void part_loss_backward(const Tensor& d_numbers, const Tensor& all, const Tensor& targets,
                        const PartLossForm& form, std::int64_t place, const LossSeed& seed);

}  // namespace trainx::operations
