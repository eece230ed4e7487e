#include "model/bert/head.hpp"
#include "model/chunked_sums.hpp"
#include "operations/cast/cast.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/linear/linear.hpp"
#include "operations/norm/residual.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::model::bert {

using spec::bert::HeadSlot;

std::int64_t* Head::rows(const BlockContext& c) { return c[HeadSlot::rows].as<std::int64_t>(); }

void Head::gather(const BlockContext& c, Chunk chunk) const {
  using Before = spec::bert::MlpTensor;
  const operations::PendingNorm before{c.tensor(HeadSlot::norm_parameters, Before::norm_weight),
                                       c.tensor(HeadSlot::norm_parameters, Before::norm_bias),
                                       shape_.dims.layer_norm_epsilon};
  operations::add_branch_layer_norm(
      {part(c, HeadSlot::residual, chunk), part(c, HeadSlot::mean, chunk),
       part(c, HeadSlot::rstd, chunk), part(c, HeadSlot::normed, chunk)},
      c[HeadSlot::residual_in], c[HeadSlot::branch_in],
      c.tensor(HeadSlot::parameters, at_.pending_bias),
      c.tensor(HeadSlot::parameters, at_.norm_weight),
      c.tensor(HeadSlot::parameters, at_.norm_bias), shape_.dims.layer_norm_epsilon,
      shape_.dropout(c, HeadSlot::positions), before,
      c[HeadSlot::rows].narrow(0, chunk.first, chunk.count));
}

Tensor Head::logits(const BlockContext& c, Chunk chunk, const Tensor& input, const Tensor& weight,
                    const Tensor& bias) const {
  const Tensor out = part(c, HeadSlot::logits_chunk, chunk);
  if (c.has(HeadSlot::logits_low)) {
    const Tensor low = part(c, HeadSlot::logits_low, chunk);
    operations::linear(low, input, weight, bias);
    operations::cast(out, low);
  } else {
    operations::linear(out, input, weight, bias);
  }
  return out;
}

void Head::backward_logits(const BlockContext& c, Chunk chunk, const Tensor& d_logits,
                           const Tensor& d_input, const Tensor& input, const Tensor& weight,
                           const Tensor& d_weight, bool add_weight, const Tensor& d_bias,
                           bool add_bias) const {
  Tensor exact = input;  // of the weight gradient, in f32
  if (c.has(HeadSlot::logits_low)) {
    const Tensor low = part(c, HeadSlot::logits_low, chunk);
    operations::cast(low, d_logits);
    operations::linear_backward_input(d_input, low, weight);
    exact = c[HeadSlot::cast].narrow(0, 0, input.numel()).view(input.dims);
    operations::cast(exact, input);
  } else {
    operations::linear_backward_input(d_input, d_logits, weight);
  }
  operations::linear_backward_weight(d_weight, d_logits, exact, add_weight);
  operations::column_sum(d_bias, d_logits, add_bias);
}

void Head::scatter(const BlockContext& c, Chunk chunk) const {
  const Tensor dx = part(c, HeadSlot::d_residual, chunk);
  const operations::NormedSumGradients to{dx,
                                          {},
                                          c.tensor(HeadSlot::d_parameters, at_.norm_weight),
                                          c.tensor(HeadSlot::d_parameters, at_.norm_bias),
                                          {},
                                          adds(c, HeadSlot::d_parameters, chunk.first == 0)};
  operations::add_branch_layer_norm_backward(
      to, {}, part(c, HeadSlot::d_normed, chunk), part(c, HeadSlot::residual, chunk),
      part(c, HeadSlot::mean, chunk), part(c, HeadSlot::rstd, chunk),
      c.tensor(HeadSlot::parameters, at_.norm_weight), {});
  operations::scatter_rows(c[HeadSlot::d_residual_in], dx,
                           c[HeadSlot::rows].narrow(0, chunk.first, chunk.count));
}

void Head::begin_gradients(const BlockContext& c) const {
  operations::clear(c[HeadSlot::d_residual_in]);
}

void Head::finish_gradients(const BlockContext& c) const {
  const Tensor& d_residual = c[HeadSlot::d_residual_in];
  const operations::Dropout drop = shape_.dropout(c, HeadSlot::positions);
  if (drop) operations::drop_out(c[HeadSlot::d_branch_in], d_residual, drop);
  operations::column_sum(c.tensor(HeadSlot::d_parameters, at_.pending_bias),
                         drop ? c[HeadSlot::d_branch_in] : d_residual,
                         c.accumulates(HeadSlot::d_parameters));
}

operations::LossTo Head::loss_to(const BlockContext& c, Chunk chunk) {
  return {part(c, HeadSlot::row_loss, chunk), c[HeadSlot::loss_sum], c[HeadSlot::target_count],
          adds(c, HeadSlot::loss_sum, chunk.first == 0)};
}

}  // namespace trainx::model::bert
