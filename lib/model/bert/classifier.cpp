#include "model/bert/classifier.hpp"
#include "model/linear_gradients.hpp"
#include "ops/rows.hpp"
#include "ops/tanh.hpp"

namespace trainx::model::bert {

using S = spec::bert::ClassifierSlot;
using P = spec::bert::ClassifierTensor;

namespace {

const std::int32_t* labels(const BlockContext& c) { return static_cast<const std::int32_t*>(c[S::targets].const_data_ptr()); }

}  // namespace

Classifier::Classifier(const Shape& shape) : Head(shape, {P::norm_weight, P::norm_bias, P::pending_bias}) {}

ops::Dropout Classifier::pooled_dropout(const BlockContext& c) const { return dropout_site(c, shape_.dims.dropout, S::positions, 1, 0, 1); }

const at::Tensor& Classifier::classified(const BlockContext& c) const { return c[c.has(S::dropped) ? S::dropped : S::pooled]; }

at::Tensor Classifier::forward_logits(const BlockContext& c) const {
  ops::first_rows(c[S::rows], shape_.length);
  gather(c, all());
  const at::Tensor& pooled = c[S::pooled];
  ops::linear(pooled, c[S::normed], c.tensor(S::parameters, P::pooler_weight), c.tensor(S::parameters, P::pooler_bias));
  ops::tanh(pooled, pooled);
  if (const ops::Dropout drop = pooled_dropout(c)) ops::drop_out(c[S::dropped], pooled, drop);
  return logits(c, all(), classified(c), c.tensor(S::parameters, P::classifier_weight), c.tensor(S::parameters, P::classifier_bias));
}

void Classifier::loss(BlockContext& c) {
  const bool accumulate = c.accumulates(S::d_parameters);
  begin_gradients(c);
  const at::Tensor d_logits = forward_logits(c), &d_pooled = c[S::d_residual], &pooled = c[S::pooled];   // d_residual is written last
  ops::summed_cross_entropy_with_gradient(loss_to(c, all()), d_logits, labels(c), shape_.dims.num_labels, c.loss_seed(S::loss_scale));
  backward_logits(c, all(), d_logits, d_pooled, classified(c), c.tensor(S::parameters, P::classifier_weight), c.tensor(S::d_parameters, P::classifier_weight), accumulate,
                  c.tensor(S::d_parameters, P::classifier_bias), accumulate);
  if (const ops::Dropout drop = pooled_dropout(c)) ops::drop_out(d_pooled, d_pooled, drop);
  ops::tanh_backward_with_bias(d_pooled, c.tensor(S::d_parameters, P::pooler_bias), d_pooled, pooled, accumulate);
  linear_gradients(c, c.tensor(S::d_parameters, P::pooler_weight), {}, S::cast, d_pooled, c[S::normed], accumulate);
  ops::linear_backward_input(c[S::d_normed], d_pooled, c.tensor(S::parameters, P::pooler_weight));
  scatter(c, all());
  finish_gradients(c);
}

void Classifier::evaluate(BlockContext& c) {
  ops::scored_cross_entropy(loss_to(c, all()), {.predictions = c[S::predictions], .confusion = c[S::score]}, forward_logits(c), labels(c), shape_.dims.num_labels);
}

void Classifier::predict(BlockContext& c) { c[S::logits].copy_(forward_logits(c)); }

}  // namespace trainx::model::bert
