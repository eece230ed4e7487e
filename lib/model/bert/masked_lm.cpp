#include "model/bert/masked_lm.hpp"
#include "core/error.hpp"
#include "model/chunked_sums.hpp"
#include "model/linear_gradients.hpp"
#include "ops/cross_entropy.hpp"
#include "ops/gelu.hpp"
#include "ops/layer_norm.hpp"

namespace trainx::model::bert {

using S = spec::bert::MaskedLmSlot;
using P = spec::bert::MaskedLmTensor;

namespace {

const std::int32_t* targets(const BlockContext& c) { return static_cast<const std::int32_t*>(c[S::targets].const_data_ptr()); }
std::int32_t* row_targets(const BlockContext& c) { return static_cast<std::int32_t*>(c[S::row_targets].data_ptr()); }

/// Where no row has a target, sums that nothing was added to are zero all the same.
void clear_unwritten(const BlockContext& c, std::initializer_list<program::Slot> sums) {
  for (const program::Slot s : sums)
    if (!c.accumulates(s)) c[s].zero_();
}

}  // namespace

MaskedLm::MaskedLm(const Shape& shape) : Head(shape, {P::norm_weight, P::norm_bias, P::pending_bias}) {}

std::int64_t MaskedLm::find_targets(const BlockContext& c) const {
  std::int64_t found = 0;
  for (std::int64_t r = 0; r < shape_.rows(); ++r) {
    if (targets(c)[r] == ops::no_target) continue;
    row_targets(c)[found] = targets(c)[r];
    rows(c)[found++] = r;
  }
  return found;
}

at::Tensor MaskedLm::forward_logits(const BlockContext& c, Chunk chunk) const {
  gather(c, chunk);
  const at::Tensor x = part(c, S::preactivation, chunk), activated = part(c, S::activated, chunk), out = part(c, S::transformed, chunk);
  const at::Tensor mean = part(c, S::transformed_mean, chunk), rstd = part(c, S::transformed_rstd, chunk);
  ops::linear(x, part(c, S::normed, chunk), c.tensor(S::parameters, P::dense_weight), c.tensor(S::parameters, P::dense_bias));
  ops::gelu_erf(activated, x);
  ops::layer_norm_statistics(mean, rstd, activated, shape_.dims.layer_norm_epsilon);
  ops::layer_norm_apply(out, activated, mean, rstd, c.tensor(S::parameters, P::transform_norm_weight), c.tensor(S::parameters, P::transform_norm_bias));
  return logits(c, chunk, out, c.tensor(S::word, 0), c.tensor(S::parameters, P::decoder_bias));
}

void MaskedLm::backward(const BlockContext& c, Chunk chunk, const at::Tensor& d_logits) const {
  const at::Tensor d_out = part(c, S::d_normed, chunk), d_activated = part(c, S::d_residual, chunk);   // until both get what they are called after
  const at::Tensor activated = part(c, S::activated, chunk), mean = part(c, S::transformed_mean, chunk), rstd = part(c, S::transformed_rstd, chunk);
  const bool add = adds(c, S::d_parameters, chunk.first == 0);
  backward_logits(c, chunk, d_logits, d_out, part(c, S::transformed, chunk), c.tensor(S::word, 0), c.tensor(S::d_word, 0), adds(c, S::d_word, chunk.first == 0),
                  c.tensor(S::d_parameters, P::decoder_bias), add);
  ops::layer_norm_backward_parameters(c.tensor(S::d_parameters, P::transform_norm_weight), c.tensor(S::d_parameters, P::transform_norm_bias), d_out, activated, mean, rstd, add);
  ops::layer_norm_backward(d_activated, {}, d_out, activated, mean, rstd, c.tensor(S::parameters, P::transform_norm_weight));
  ops::gelu_erf_backward(d_activated, d_activated, part(c, S::preactivation, chunk));
  linear_gradients(c, c.tensor(S::d_parameters, P::dense_weight), c.tensor(S::d_parameters, P::dense_bias), S::cast, d_activated, part(c, S::normed, chunk), add);
  ops::linear_backward_input(d_out, d_activated, c.tensor(S::parameters, P::dense_weight));
  scatter(c, chunk);
}

void MaskedLm::loss(BlockContext& c) {
  begin_gradients(c);
  const std::int64_t found = find_targets(c);
  if (found == 0) clear_unwritten(c, {S::d_word, S::d_parameters, S::loss_sum, S::target_count});
  for_chunks(c, found, [&](Chunk chunk) {
    const at::Tensor x = forward_logits(c, chunk);
    ops::cross_entropy_with_gradient(c[S::row_loss], x, row_targets(c) + chunk.first, shape_.dims.vocab_size, c.loss_seed());
    add_loss(c, chunk, row_targets(c) + chunk.first);
    backward(c, chunk, x);
  });
  finish_gradients(c);
}

void MaskedLm::evaluate(BlockContext& c) {
  const std::int64_t found = find_targets(c), vocabulary = shape_.dims.vocab_size;
  if (found == 0) clear_unwritten(c, {S::loss_sum, S::target_count, S::score});
  for_chunks(c, found, [&](Chunk chunk) {
    const at::Tensor x = forward_logits(c, chunk);
    const std::int32_t* wanted = row_targets(c) + chunk.first;
    ops::cross_entropy(c[S::row_loss], x, wanted, vocabulary);
    add_loss(c, chunk, wanted);
    double correct = 0;
    for (std::int64_t r = 0; r < chunk.count; ++r) correct += argmax(x, r, vocabulary) == wanted[r];
    add_to(c, S::score, chunk.first == 0, correct);
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
