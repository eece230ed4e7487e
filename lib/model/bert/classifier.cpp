#include "model/bert/classifier.hpp"
#include "operations/cast/cast.hpp"
#include "model/linear_gradients.hpp"
#include "operations/rows/rows.hpp"
#include "operations/activation/tanh.hpp"

namespace trainx::model::bert {

using spec::bert::ClassifierSlot;
using spec::bert::ClassifierTensor;

namespace {

const std::int32_t* labels(const BlockContext& c) {
  return c[ClassifierSlot::targets].as<const std::int32_t>();
}

}  // namespace

Classifier::Classifier(const Shape& shape)
    : Head(shape, {ClassifierTensor::norm_weight, ClassifierTensor::norm_bias,
                   ClassifierTensor::pending_bias}) {}

operations::Dropout Classifier::pooled_dropout(const BlockContext& c) const {
  return dropout_site(c, shape_.dims.dropout, ClassifierSlot::positions, 1, 0, 1);
}

const Tensor& Classifier::classified(const BlockContext& c) const {
  return c[c.has(ClassifierSlot::dropped) ? ClassifierSlot::dropped : ClassifierSlot::pooled];
}

Tensor Classifier::forward_logits(const BlockContext& c) const {
  operations::first_rows(c[ClassifierSlot::rows], shape_.length);
  gather(c, all());
  const Tensor& pooled = c[ClassifierSlot::pooled];
  operations::linear(pooled, c[ClassifierSlot::normed],
                     c.tensor(ClassifierSlot::parameters, ClassifierTensor::pooler_weight),
                     c.tensor(ClassifierSlot::parameters, ClassifierTensor::pooler_bias));
  operations::tanh(pooled, pooled);
  if (const operations::Dropout drop = pooled_dropout(c))
    operations::drop_out(c[ClassifierSlot::dropped], pooled, drop);
  return logits(c, all(), classified(c),
                c.tensor(ClassifierSlot::parameters, ClassifierTensor::classifier_weight),
                c.tensor(ClassifierSlot::parameters, ClassifierTensor::classifier_bias));
}

void Classifier::loss(BlockContext& c) {
  const bool accumulate = c.accumulates(ClassifierSlot::d_parameters);
  begin_gradients(c);
  // d_residual is written last
  const Tensor d_logits = forward_logits(c), &d_pooled = c[ClassifierSlot::d_residual],
               &pooled = c[ClassifierSlot::pooled];
  operations::summed_cross_entropy_with_gradient(loss_to(c, all()), d_logits, labels(c),
                                                 shape_.dims.num_labels,
                                                 c.loss_seed(ClassifierSlot::loss_scale));
  backward_logits(
      c, all(), d_logits, d_pooled, classified(c),
      c.tensor(ClassifierSlot::parameters, ClassifierTensor::classifier_weight),
      c.tensor(ClassifierSlot::d_parameters, ClassifierTensor::classifier_weight), accumulate,
      c.tensor(ClassifierSlot::d_parameters, ClassifierTensor::classifier_bias), accumulate);
  if (const operations::Dropout drop = pooled_dropout(c))
    operations::drop_out(d_pooled, d_pooled, drop);
  operations::tanh_backward_with_bias(
      d_pooled, c.tensor(ClassifierSlot::d_parameters, ClassifierTensor::pooler_bias), d_pooled,
      pooled, accumulate);
  linear_gradients(c, c.tensor(ClassifierSlot::d_parameters, ClassifierTensor::pooler_weight), {},
                   ClassifierSlot::cast, d_pooled, c[ClassifierSlot::normed], accumulate);
  operations::linear_backward_input(
      c[ClassifierSlot::d_normed], d_pooled,
      c.tensor(ClassifierSlot::parameters, ClassifierTensor::pooler_weight));
  scatter(c, all());
  finish_gradients(c);
}

void Classifier::evaluate(BlockContext& c) {
  operations::scored_cross_entropy(
      loss_to(c, all()),
      {.predictions = c[ClassifierSlot::predictions], .confusion = c[ClassifierSlot::score]},
      forward_logits(c), labels(c), shape_.dims.num_labels);
}

void Classifier::predict(BlockContext& c) {
  operations::cast(c[ClassifierSlot::logits], forward_logits(c));
}

}  // namespace trainx::model::bert
