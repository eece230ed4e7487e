#include "model/bert/masked_lm.hpp"
#include "core/error.hpp"
#include "model/chunked_sums.hpp"
#include "model/linear_gradients.hpp"
#include "ops/gelu.hpp"
#include "ops/residual.hpp"
#include "ops/rows.hpp"

namespace trainx::model::bert {

using S = spec::bert::MaskedLmSlot;
using P = spec::bert::MaskedLmTensor;

namespace {

const std::int32_t* targets(const BlockContext& c) { return static_cast<const std::int32_t*>(c[S::targets].const_data_ptr()); }
const std::int32_t* row_targets(const BlockContext& c) { return static_cast<const std::int32_t*>(c[S::row_targets].const_data_ptr()); }

/// Where no row has a target, sums that nothing was added to are zero all the same.
void clear_unwritten(const BlockContext& c, std::initializer_list<program::Slot> sums) {
  for (const program::Slot s : sums)
    if (!c.accumulates(s)) ops::clear(c[s]);
}

}  // namespace

MaskedLm::MaskedLm(const Shape& shape) : Head(shape, {P::norm_weight, P::norm_bias, P::pending_bias}) {}

at::Tensor MaskedLm::forward_logits(const BlockContext& c, Chunk chunk) const {
  gather(c, chunk);
  const at::Tensor x = part(c, S::preactivation, chunk), activated = part(c, S::activated, chunk), out = part(c, S::transformed, chunk);
  ops::linear(x, part(c, S::normed, chunk), c.tensor(S::parameters, P::dense_weight), c.tensor(S::parameters, P::dense_bias));
  ops::gelu_erf(activated, x);
  ops::add_branch_layer_norm({activated, part(c, S::transformed_mean, chunk), part(c, S::transformed_rstd, chunk), out}, {}, {}, {},
                             c.tensor(S::parameters, P::transform_norm_weight), c.tensor(S::parameters, P::transform_norm_bias), shape_.dims.layer_norm_epsilon, {});
  return logits(c, chunk, out, c.tensor(S::word, 0), c.tensor(S::parameters, P::decoder_bias));
}

void MaskedLm::backward(const BlockContext& c, Chunk chunk, const at::Tensor& d_logits) const {
  const at::Tensor d_out = part(c, S::d_normed, chunk), d_activated = part(c, S::d_residual, chunk);   // until both get what they are called after
  const bool add = adds(c, S::d_parameters, chunk.first == 0);
  backward_logits(c, chunk, d_logits, d_out, part(c, S::transformed, chunk), c.tensor(S::word, 0), c.tensor(S::d_word, 0), adds(c, S::d_word, chunk.first == 0),
                  c.tensor(S::d_parameters, P::decoder_bias), add);
  const ops::NormedSumGradients to{d_activated, {}, c.tensor(S::d_parameters, P::transform_norm_weight), c.tensor(S::d_parameters, P::transform_norm_bias), {}, add};
  ops::add_branch_layer_norm_backward(to, {}, d_out, part(c, S::activated, chunk), part(c, S::transformed_mean, chunk), part(c, S::transformed_rstd, chunk),
                                      c.tensor(S::parameters, P::transform_norm_weight), {});
  ops::gelu_erf_backward_with_bias(d_activated, c.tensor(S::d_parameters, P::dense_bias), d_activated, part(c, S::preactivation, chunk), add);
  linear_gradients(c, c.tensor(S::d_parameters, P::dense_weight), {}, S::cast, d_activated, part(c, S::normed, chunk), add);
  ops::linear_backward_input(d_out, d_activated, c.tensor(S::parameters, P::dense_weight));
  scatter(c, chunk);
}

void MaskedLm::loss(BlockContext& c) {
  begin_gradients(c);
  const std::int64_t found = ops::select_targets(c[S::rows], c[S::row_targets], c[S::targets]);
  if (found == 0) clear_unwritten(c, {S::d_word, S::d_parameters, S::loss_sum, S::target_count});
  for_chunks(c, found, [&](Chunk chunk) {
    const at::Tensor x = forward_logits(c, chunk);
    ops::summed_cross_entropy_with_gradient(loss_to(c, chunk), x, row_targets(c) + chunk.first, shape_.dims.vocab_size, c.loss_seed(S::loss_scale));
    backward(c, chunk, x);
  });
  finish_gradients(c);
}

void MaskedLm::evaluate(BlockContext& c) {
  const std::int64_t found = ops::select_targets(c[S::rows], c[S::row_targets], c[S::targets]);
  if (found == 0) clear_unwritten(c, {S::loss_sum, S::target_count, S::score});
  for_chunks(c, found, [&](Chunk chunk) {
    ops::scored_cross_entropy(loss_to(c, chunk), {.predictions = part(c, S::predictions, chunk), .correct = c[S::score], .confusion = {}}, forward_logits(c, chunk),
                              row_targets(c) + chunk.first, shape_.dims.vocab_size);
  });
}

void MaskedLm::predict(BlockContext& c) {
  for (std::int64_t b = 0; b < shape_.batch; ++b) {
    const std::int64_t position = targets(c)[b * shape_.length];
    if (position < 0 || position >= shape_.length) throw InternalError("predict: targets[b, 0] must be the position to read");
    rows(c)[b] = b * shape_.length + position;
  }
  for_chunks(c, shape_.batch, [&](Chunk chunk) {
    c[S::logits].narrow(0, chunk.first, chunk.count).copy_(forward_logits(c, chunk).narrow(1, 0, shape_.dims.vocab_size));
  });
}

}  // namespace trainx::model::bert
