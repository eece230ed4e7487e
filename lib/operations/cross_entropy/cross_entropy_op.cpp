#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/cross_entropy/cross_entropy_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {
namespace {

LossTo class_loss_to(const OpContext& c) {
  const BoundBlock& b = c.bound();
  return {c.scratch(CrossEntropy::row_loss), c.whole(b.loss_sum), c.whole(b.target_count),
          !c.is_first_chunk() || c.block().accumulates(b.loss_sum)};
}

const std::int32_t* class_targets(const OpContext& c) {
  return c.input(CrossEntropy::targets).as<const std::int32_t>();
}

}  // namespace

void CrossEntropy::finish_logits(const Tensor& of) const {
  if (changes_logits()) change_logits(of, classes, {scale, soft_cap});
}

void CrossEntropy::run_loss(const OpContext& c) const {
  summed_cross_entropy_with_gradient(class_loss_to(c), c.input(logits), class_targets(c), classes,
                                     c.block().loss_seed(c.bound().loss_scale),
                                     {{scale, soft_cap}, smoothing, z_loss});
}

void CrossEntropy::run_evaluation(const OpContext& c) const {
  finish_logits(c.input(logits));
  if (score == Score::none)
    return summed_cross_entropy(class_loss_to(c), c.input(logits), class_targets(c), classes);
  Scores scores{.predictions = c.scratch(predictions)};
  (score == Score::correct ? scores.correct : scores.confusion) = c.whole(c.bound().score);
  scored_cross_entropy(class_loss_to(c), scores, c.input(logits), class_targets(c), classes);
}

}  // namespace trainx::operations
