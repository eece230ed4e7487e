#include "model/bert/masked_lm.hpp"
#include "core/error.hpp"
#include "model/chunked_sums.hpp"
#include "model/linear_gradients.hpp"
#include "operations/cast/cast.hpp"
#include "operations/activation/gelu.hpp"
#include "operations/norm/residual.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::model::bert {

using spec::bert::MaskedLmSlot;
using spec::bert::MaskedLmTensor;

namespace {

const std::int32_t* targets(const BlockContext& c) {
  return c[MaskedLmSlot::targets].as<const std::int32_t>();
}
const std::int32_t* row_targets(const BlockContext& c) {
  return c[MaskedLmSlot::row_targets].as<const std::int32_t>();
}

/// Where no row has a target, sums that nothing was added to are zero all the same.
void clear_unwritten(const BlockContext& c, std::initializer_list<program::Slot> sums) {
  for (const program::Slot s : sums)
    if (!c.accumulates(s)) operations::clear(c[s]);
}

}  // namespace

MaskedLm::MaskedLm(const Shape& shape)
    : Head(shape,
           {MaskedLmTensor::norm_weight, MaskedLmTensor::norm_bias, MaskedLmTensor::pending_bias}) {
}

Tensor MaskedLm::forward_logits(const BlockContext& c, Chunk chunk) const {
  gather(c, chunk);
  const Tensor x = part(c, MaskedLmSlot::preactivation, chunk),
               activated = part(c, MaskedLmSlot::activated, chunk),
               out = part(c, MaskedLmSlot::transformed, chunk);
  operations::linear(x, part(c, MaskedLmSlot::normed, chunk),
                     c.tensor(MaskedLmSlot::parameters, MaskedLmTensor::dense_weight),
                     c.tensor(MaskedLmSlot::parameters, MaskedLmTensor::dense_bias));
  operations::gelu_erf(activated, x);
  operations::add_branch_layer_norm(
      {activated, part(c, MaskedLmSlot::transformed_mean, chunk),
       part(c, MaskedLmSlot::transformed_rstd, chunk), out},
      {}, {}, {}, c.tensor(MaskedLmSlot::parameters, MaskedLmTensor::transform_norm_weight),
      c.tensor(MaskedLmSlot::parameters, MaskedLmTensor::transform_norm_bias),
      shape_.dims.layer_norm_epsilon, {});
  return logits(c, chunk, out, c.tensor(MaskedLmSlot::word, 0),
                c.tensor(MaskedLmSlot::parameters, MaskedLmTensor::decoder_bias));
}

void MaskedLm::backward(const BlockContext& c, Chunk chunk, const Tensor& d_logits) const {
  // until both get what they are called after
  const Tensor d_out = part(c, MaskedLmSlot::d_normed, chunk),
               d_activated = part(c, MaskedLmSlot::d_residual, chunk);
  const bool add = adds(c, MaskedLmSlot::d_parameters, chunk.first == 0);
  backward_logits(c, chunk, d_logits, d_out, part(c, MaskedLmSlot::transformed, chunk),
                  c.tensor(MaskedLmSlot::word, 0), c.tensor(MaskedLmSlot::d_word, 0),
                  adds(c, MaskedLmSlot::d_word, chunk.first == 0),
                  c.tensor(MaskedLmSlot::d_parameters, MaskedLmTensor::decoder_bias), add);
  const operations::NormedSumGradients to{
      d_activated,
      {},
      c.tensor(MaskedLmSlot::d_parameters, MaskedLmTensor::transform_norm_weight),
      c.tensor(MaskedLmSlot::d_parameters, MaskedLmTensor::transform_norm_bias),
      {},
      add};
  operations::add_branch_layer_norm_backward(
      to, {}, d_out, part(c, MaskedLmSlot::activated, chunk),
      part(c, MaskedLmSlot::transformed_mean, chunk),
      part(c, MaskedLmSlot::transformed_rstd, chunk),
      c.tensor(MaskedLmSlot::parameters, MaskedLmTensor::transform_norm_weight), {});
  operations::gelu_erf_backward_with_bias(
      d_activated, c.tensor(MaskedLmSlot::d_parameters, MaskedLmTensor::dense_bias), d_activated,
      part(c, MaskedLmSlot::preactivation, chunk), add);
  linear_gradients(c, c.tensor(MaskedLmSlot::d_parameters, MaskedLmTensor::dense_weight), {},
                   MaskedLmSlot::cast, d_activated, part(c, MaskedLmSlot::normed, chunk), add);
  operations::linear_backward_input(
      d_out, d_activated, c.tensor(MaskedLmSlot::parameters, MaskedLmTensor::dense_weight));
  scatter(c, chunk);
}

void MaskedLm::loss(BlockContext& c) {
  begin_gradients(c);
  const std::int64_t found = operations::select_targets(
      c[MaskedLmSlot::rows], c[MaskedLmSlot::row_targets], c[MaskedLmSlot::targets]);
  if (found == 0)
    clear_unwritten(c, {MaskedLmSlot::d_word, MaskedLmSlot::d_parameters, MaskedLmSlot::loss_sum,
                        MaskedLmSlot::target_count});
  for_chunks(c, found, [&](Chunk chunk) {
    const Tensor x = forward_logits(c, chunk);
    operations::summed_cross_entropy_with_gradient(
        loss_to(c, chunk), x, row_targets(c) + chunk.first, shape_.dims.vocab_size,
        c.loss_seed(MaskedLmSlot::loss_scale));
    backward(c, chunk, x);
  });
  finish_gradients(c);
}

void MaskedLm::evaluate(BlockContext& c) {
  const std::int64_t found = operations::select_targets(
      c[MaskedLmSlot::rows], c[MaskedLmSlot::row_targets], c[MaskedLmSlot::targets]);
  if (found == 0)
    clear_unwritten(c, {MaskedLmSlot::loss_sum, MaskedLmSlot::target_count, MaskedLmSlot::score});
  for_chunks(c, found, [&](Chunk chunk) {
    operations::scored_cross_entropy(loss_to(c, chunk),
                                     {.predictions = part(c, MaskedLmSlot::predictions, chunk),
                                      .correct = c[MaskedLmSlot::score],
                                      .confusion = {}},
                                     forward_logits(c, chunk), row_targets(c) + chunk.first,
                                     shape_.dims.vocab_size);
  });
}

void MaskedLm::predict(BlockContext& c) {
  for (std::int64_t b = 0; b < shape_.batch; ++b) {
    const std::int64_t position = targets(c)[b * shape_.length];
    if (position < 0 || position >= shape_.length)
      throw InternalError("predict: targets[b, 0] must be the position to read");
    rows(c)[b] = b * shape_.length + position;
  }
  for_chunks(c, shape_.batch, [&](Chunk chunk) {
    operations::cast(c[MaskedLmSlot::logits].narrow(0, chunk.first, chunk.count),
                     forward_logits(c, chunk).narrow(1, 0, shape_.dims.vocab_size));
  });
}

}  // namespace trainx::model::bert
