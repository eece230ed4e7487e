#include "model/bert/classifier.hpp"
#include "model/linear_gradients.hpp"
#include "ops/cross_entropy.hpp"
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
  for (std::int64_t b = 0; b < shape_.batch; ++b) rows(c)[b] = b * shape_.length;
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
  ops::cross_entropy_with_gradient(c[S::row_loss], d_logits, labels(c), shape_.dims.num_labels, c.loss_seed());
  add_loss(c, all(), labels(c));
  backward_logits(c, all(), d_logits, d_pooled, classified(c), c.tensor(S::parameters, P::classifier_weight), c.tensor(S::d_parameters, P::classifier_weight), accumulate,
                  c.tensor(S::d_parameters, P::classifier_bias), accumulate);
  if (const ops::Dropout drop = pooled_dropout(c)) ops::drop_out(d_pooled, d_pooled, drop);
  ops::tanh_backward(d_pooled, d_pooled, pooled);
  linear_gradients(c, c.tensor(S::d_parameters, P::pooler_weight), c.tensor(S::d_parameters, P::pooler_bias), S::cast, d_pooled, c[S::normed], accumulate);
  ops::linear_backward_input(c[S::d_normed], d_pooled, c.tensor(S::parameters, P::pooler_weight));
  scatter(c, all());
  finish_gradients(c);
}

void Classifier::evaluate(BlockContext& c) {
  const at::Tensor x = forward_logits(c);
  const std::int64_t classes = shape_.dims.num_labels;
  ops::cross_entropy(c[S::row_loss], x, labels(c), classes);
  add_loss(c, all(), labels(c));
  if (!c.accumulates(S::score)) c[S::score].zero_();
  auto* confusion = static_cast<double*>(c[S::score].data_ptr());   // a row for each label, a column for each prediction
  for (std::int64_t b = 0; b < shape_.batch; ++b)
    if (labels(c)[b] != ops::no_target) ++confusion[labels(c)[b] * classes + argmax(x, b, classes)];
}

void Classifier::predict(BlockContext& c) { c[S::logits].copy_(forward_logits(c)); }

}  // namespace trainx::model::bert
