#include "model/gpt2/head.hpp"
#include "core/error.hpp"
#include "model/chunked_sums.hpp"
#include "operations/cast/cast.hpp"
#include "operations/linear/linear.hpp"
#include "operations/norm/residual.hpp"
#include "spec/arch/gpt2_slots.hpp"
#include <algorithm>

namespace trainx::model::gpt2 {

using spec::HeadSlot;
using spec::HeadTensor;

namespace {

const std::int32_t* targets(const BlockContext& c) {
  return c[HeadSlot::targets].as<const std::int32_t>();
}

}  // namespace

template <class F>
void Head::for_chunks(const BlockContext& c, std::int64_t rows, F f) const {
  const std::int64_t most = c[HeadSlot::residual].size(0);
  for (std::int64_t first = 0; first < rows; first += most)
    f(Chunk{first, std::min(most, rows - first)});
}

Tensor Head::logits(BlockContext& c, Chunk chunk) const {
  const std::int64_t n = chunk.count;
  const Tensor normed = c[HeadSlot::normed].narrow(0, 0, n),
               logits = c[HeadSlot::logits_chunk].narrow(0, 0, n);
  operations::add_branch_layer_norm(
      {c[HeadSlot::residual].narrow(0, 0, n), c[HeadSlot::mean].narrow(0, 0, n),
       c[HeadSlot::rstd].narrow(0, 0, n), normed},
      c[HeadSlot::residual_in].narrow(0, chunk.first, n),
      c[HeadSlot::branch_in].narrow(0, chunk.first, n),
      c.tensor(HeadSlot::parameters, HeadTensor::pending_bias),
      c.tensor(HeadSlot::parameters, HeadTensor::ln_weight),
      c.tensor(HeadSlot::parameters, HeadTensor::ln_bias), shape_.dims.layer_norm_epsilon,
      dropout(shape_, c, HeadSlot::positions, chunk.first));
  make_logits(c, normed, logits);
  return logits;
}

void Head::make_logits(BlockContext& c, const Tensor& normed, const Tensor& logits) const {
  if (!c.has(HeadSlot::logits_low))
    return operations::linear(logits, normed, c.tensor(HeadSlot::wte, 0));
  const Tensor low = c[HeadSlot::logits_low].narrow(0, 0, normed.size(0));
  operations::linear(low, normed, c.tensor(HeadSlot::wte, 0));
  operations::cast(logits, low);
}

operations::LossTo Head::loss_to(const BlockContext& c, Chunk chunk) const {
  return {c[HeadSlot::row_loss].narrow(0, 0, chunk.count), c[HeadSlot::loss_sum],
          c[HeadSlot::target_count], adds(c, HeadSlot::loss_sum, chunk.first == 0)};
}

void Head::backward(BlockContext& c, Chunk chunk, const Tensor& d_logits) const {
  const std::int64_t n = chunk.count;
  const Tensor normed = c[HeadSlot::normed].narrow(0, 0, n),
               d_normed = c[HeadSlot::d_normed].narrow(0, 0, n), wte = c.tensor(HeadSlot::wte, 0);
  Tensor input = normed;  // of the weight gradient, in f32 where the logits are
  if (c.has(HeadSlot::logits_low)) {
    const Tensor low = c[HeadSlot::logits_low].narrow(0, 0, n);
    operations::cast(low, d_logits);
    operations::linear_backward_input(d_normed, low, wte);
    input = c[HeadSlot::normed_cast].narrow(0, 0, n);
    operations::cast(input, normed);
  } else {
    operations::linear_backward_input(d_normed, d_logits, wte);
  }
  operations::linear_backward_weight(c.tensor(HeadSlot::d_wte, 0), d_logits, input,
                                     adds(c, HeadSlot::d_wte, chunk.first == 0));
  const operations::Dropout drop = dropout(shape_, c, HeadSlot::positions, chunk.first);
  operations::NormedSumGradients to;
  to.dx = c[HeadSlot::d_residual_in].narrow(0, chunk.first, n);
  if (drop) to.d_branch = c[HeadSlot::d_branch_in].narrow(0, chunk.first, n);
  to.d_weight = c.tensor(HeadSlot::d_parameters, HeadTensor::ln_weight);
  to.d_shift = c.tensor(HeadSlot::d_parameters, HeadTensor::ln_bias);
  to.d_bias = c.tensor(HeadSlot::d_parameters, HeadTensor::pending_bias);
  to.accumulate = adds(c, HeadSlot::d_parameters, chunk.first == 0);
  operations::add_branch_layer_norm_backward(
      to, {}, d_normed, c[HeadSlot::residual].narrow(0, 0, n), c[HeadSlot::mean].narrow(0, 0, n),
      c[HeadSlot::rstd].narrow(0, 0, n), c.tensor(HeadSlot::parameters, HeadTensor::ln_weight),
      drop);
}

void Head::loss(BlockContext& c) {
  for_chunks(c, shape_.rows(), [&](Chunk chunk) {
    const Tensor x = logits(c, chunk);
    operations::summed_cross_entropy_with_gradient(loss_to(c, chunk), x, targets(c) + chunk.first,
                                                   shape_.dims.vocab_size,
                                                   c.loss_seed(HeadSlot::loss_scale));
    backward(c, chunk, x);
  });
}

void Head::evaluate(BlockContext& c) {
  for_chunks(c, shape_.rows(), [&](Chunk chunk) {
    operations::summed_cross_entropy(loss_to(c, chunk), logits(c, chunk), targets(c) + chunk.first,
                                     shape_.dims.vocab_size);
  });
}

void Head::predict(BlockContext& c) {
  for_chunks(c, shape_.batch, [&](Chunk chunk) {
    const Tensor normed = c[HeadSlot::normed].narrow(0, 0, chunk.count),
                 logits = c[HeadSlot::logits_chunk].narrow(0, 0, chunk.count);
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      const std::int64_t sample = chunk.first + i, position = targets(c)[sample * shape_.length],
                         row = sample * shape_.length + position;
      if (position < 0 || position >= shape_.length)
        throw InternalError("predict: targets[b, 0] must be the position to read");
      operations::add_branch_layer_norm(
          {c[HeadSlot::residual].narrow(0, i, 1), c[HeadSlot::mean].narrow(0, i, 1),
           c[HeadSlot::rstd].narrow(0, i, 1), normed.narrow(0, i, 1)},
          c[HeadSlot::residual_in].narrow(0, row, 1), c[HeadSlot::branch_in].narrow(0, row, 1),
          c.tensor(HeadSlot::parameters, HeadTensor::pending_bias),
          c.tensor(HeadSlot::parameters, HeadTensor::ln_weight),
          c.tensor(HeadSlot::parameters, HeadTensor::ln_bias), shape_.dims.layer_norm_epsilon, {});
    }
    make_logits(c, normed, logits);
    if (c.has(HeadSlot::logits))
      operations::cast(c[HeadSlot::logits].narrow(0, chunk.first, chunk.count),
                       logits.narrow(1, 0, shape_.dims.vocab_size));
  });
}

}  // namespace trainx::model::gpt2
