#include "operations/logit_sums/logit_sums.hpp"
#include "operations/logit_sums/part_loss_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {
namespace {

PartLossTo sums_of(const OpContext& c) {
  const BoundBlock& b = c.bound();
  return {c.whole(b.loss_sum), c.whole(b.target_count), {}, c.block().accumulates(b.loss_sum)};
}

}  // namespace

void PartLoss::run_loss(const OpContext& c) const {
  part_loss(sums_of(c), c.input(all), c.input(targets), {classes, smoothing, z_loss});
}

void PartLoss::run_evaluation(const OpContext& c) const {
  PartLossTo to = sums_of(c);
  if (score == CrossEntropy::Score::correct) to.correct = c.whole(c.bound().score);
  part_loss(to, c.input(all), c.input(targets), {classes, 0, 0});
}

void PartLoss::run_backward(const OpContext& c) const {
  part_loss_backward(c.input_gradient(own), c.input(all), c.input(targets),
                     {classes, smoothing, z_loss}, c.layer_part(),
                     c.block().loss_seed(c.bound().loss_scale));
}

}  // namespace trainx::operations
