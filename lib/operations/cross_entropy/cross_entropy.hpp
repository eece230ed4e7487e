#pragma once
#include "kernels/loss/loss_form.hpp"
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations {

constexpr std::int32_t no_target = -100;

/// What a loss' gradient begins as.
struct LossSeed {
  double factor = 1;
  // where the loss is: the factor is multiplied by it; null: by 1
  const double* scale = nullptr;
};

using kernels::LogitChange;
using kernels::LossForm;

/// Cross-entropy of rows of logits[R, Vp] (f32) over the first `vocab_size` columns: row_loss[R]
/// (f32) in nats, 0 where targets[r] is no_target.
void cross_entropy(const Tensor& row_loss, const Tensor& logits, const std::int32_t* targets,
                   std::int64_t vocab_size);
/// The loss of that form, and the logits become its gradient times `seed`, over what they were; 0
/// in padded columns and in rows without target. Plain: (softmax - one_hot(target)) * seed.
void cross_entropy_with_gradient(const Tensor& row_loss, const Tensor& logits,
                                 const std::int32_t* targets, std::int64_t vocab_size, double seed,
                                 const LossForm& form = {});

/// Where a loss goes: row_loss[R] (f32) and, overwritten or added to, its sum and the number of
/// targets (f64 [1]).
struct LossTo {
  Tensor row_loss, loss_sum, target_count;
  bool accumulate = false;
};
/// Both of the above with their sums. On a GPU the logits may be bf16 or fp16 as well.
void summed_cross_entropy(const LossTo& to, const Tensor& logits, const std::int32_t* targets,
                          std::int64_t vocab_size);
/// What is counted of each row's most probable class, the first of equals; a row without target
/// counts nowhere. Undefined: not wanted.
struct Scores {
  Tensor predictions;  // i32 [R], overwritten
  Tensor correct;      // f64 [1]: rows whose prediction is the target
  // f64 [vocab_size, vocab_size]: rows by target (row) and prediction (column)
  Tensor confusion;
};
/// summed_cross_entropy with scores, which are overwritten or added to as the sums are.
void scored_cross_entropy(const LossTo& to, const Scores& scores, const Tensor& logits,
                          const std::int32_t* targets, std::int64_t vocab_size);
/// logits[:, :vocab_size] become what a loss sees.
void change_logits(const Tensor& logits, std::int64_t vocab_size, const LogitChange& change);
void summed_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, const LossForm& form = {});

}  // namespace trainx::operations
