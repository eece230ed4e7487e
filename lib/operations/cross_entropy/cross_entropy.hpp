#pragma once
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

/// What training adds to a row's cross-entropy: its mixture with that of all classes alike
/// (Szegedy et al. 2015, arXiv:1512.00567), (1 - smoothing) * loss + smoothing * mean over classes
/// of -log(softmax), and z * log(sum(exp(logits)))^2 (PaLM, arXiv:2204.02311).
struct LossTerms {
  double smoothing = 0, z = 0;
  bool any() const { return smoothing > 0 || z > 0; }
};

/// Cross-entropy of rows of logits[R, Vp] (f32) over the first `vocab_size` columns: row_loss[R]
/// (f32) in nats, 0 where targets[r] is no_target.
void cross_entropy(const Tensor& row_loss, const Tensor& logits, const std::int32_t* targets,
                   std::int64_t vocab_size);
/// The same, and the logits become their gradient, (softmax - one_hot(target)) * seed; 0 in padded
/// columns and in rows without target.
void cross_entropy_with_gradient(const Tensor& row_loss, const Tensor& logits,
                                 const std::int32_t* targets, std::int64_t vocab_size, double seed,
                                 LossTerms terms = {});

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
/// logits[:, :vocab_size] = x * scale, and under a cap > 0 cap * tanh of it over the cap.
void scale_and_cap(const Tensor& logits, std::int64_t vocab_size, double scale, double cap);
/// Of logits that are scaled and capped before the loss; they become the gradient of what they are.
void capped_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, double scale, double cap,
                                        LossTerms terms = {});
void summed_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, LossTerms terms = {});

}  // namespace trainx::operations
