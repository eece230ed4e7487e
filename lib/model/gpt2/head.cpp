#include "model/gpt2/head.hpp"
#include "core/error.hpp"
#include "model/chunked_sums.hpp"
#include "ops/column_sum.hpp"
#include "ops/cross_entropy.hpp"
#include "ops/layer_norm.hpp"
#include "ops/linear.hpp"
#include "ops/residual.hpp"
#include "spec/arch/gpt2_slots.hpp"
#include <algorithm>

namespace trainx::model::gpt2 {

using S = spec::HeadSlot;
using P = spec::HeadTensor;

namespace {

const std::int32_t* targets(const BlockContext& c) { return static_cast<const std::int32_t*>(c[S::targets].const_data_ptr()); }

}  // namespace

template <class F>
void Head::for_chunks(const BlockContext& c, std::int64_t rows, F f) const {
  const std::int64_t most = c[S::residual].size(0);
  for (std::int64_t first = 0; first < rows; first += most) f(Chunk{first, std::min(most, rows - first)});
}

void Head::add_residual(BlockContext& c, Chunk chunk) const {
  ops::add_branch(c[S::residual].narrow(0, 0, chunk.count), c[S::residual_in].narrow(0, chunk.first, chunk.count), c[S::branch_in].narrow(0, chunk.first, chunk.count),
                  c.tensor(S::parameters, P::pending_bias), dropout(shape_, c, S::positions, chunk.first));
}

at::Tensor Head::logits(BlockContext& c, std::int64_t count) const {
  const at::Tensor x = c[S::residual].narrow(0, 0, count), normed = c[S::normed].narrow(0, 0, count), logits = c[S::logits_chunk].narrow(0, 0, count);
  const at::Tensor mean = c[S::mean].narrow(0, 0, count), rstd = c[S::rstd].narrow(0, 0, count);
  ops::layer_norm_statistics(mean, rstd, x, shape_.dims.layer_norm_epsilon);
  ops::layer_norm_apply(normed, x, mean, rstd, c.tensor(S::parameters, P::ln_weight), c.tensor(S::parameters, P::ln_bias));
  if (c.has(S::logits_low)) {
    const at::Tensor low = c[S::logits_low].narrow(0, 0, count);
    ops::linear(low, normed, c.tensor(S::wte, 0));
    logits.copy_(low);
  } else {
    ops::linear(logits, normed, c.tensor(S::wte, 0));
  }
  return logits;
}

void Head::add_loss(BlockContext& c, const Chunk& chunk) const {
  const auto* row_loss = static_cast<const float*>(c[S::row_loss].const_data_ptr());
  double sum = 0, count = 0;
  for (std::int64_t r = 0; r < chunk.count; ++r) {
    sum += row_loss[r];
    count += targets(c)[chunk.first + r] != ops::no_target;
  }
  add_to(c, S::loss_sum, chunk.first == 0, sum);
  add_to(c, S::target_count, chunk.first == 0, count);
}

void Head::backward(BlockContext& c, Chunk chunk, const at::Tensor& d_logits) const {
  const std::int64_t n = chunk.count;
  const at::Tensor normed = c[S::normed].narrow(0, 0, n), d_normed = c[S::d_normed].narrow(0, 0, n), wte = c.tensor(S::wte, 0);
  at::Tensor input = normed;            // of the weight gradient, in f32
  if (c.has(S::logits_low)) {
    const at::Tensor low = c[S::logits_low].narrow(0, 0, n);
    low.copy_(d_logits);
    ops::linear_backward_input(d_normed, low, wte);
    input = c[S::normed_cast].narrow(0, 0, n);
    input.copy_(normed);
  } else {
    ops::linear_backward_input(d_normed, d_logits, wte);
  }
  ops::linear_backward_weight(c.tensor(S::d_wte, 0), d_logits, input, adds(c, S::d_wte, chunk.first == 0));
  const at::Tensor x = c[S::residual].narrow(0, 0, n), mean = c[S::mean].narrow(0, 0, n), rstd = c[S::rstd].narrow(0, 0, n);
  ops::layer_norm_backward_parameters(c.tensor(S::d_parameters, P::ln_weight), c.tensor(S::d_parameters, P::ln_bias), d_normed, x, mean, rstd,
                                      adds(c, S::d_parameters, chunk.first == 0));
  const at::Tensor d_residual = c[S::d_residual_in].narrow(0, chunk.first, n);
  ops::layer_norm_backward(d_residual, {}, d_normed, x, mean, rstd, c.tensor(S::parameters, P::ln_weight));
  if (const ops::Dropout drop = dropout(shape_, c, S::positions, chunk.first)) ops::drop_out(c[S::d_branch_in].narrow(0, chunk.first, n), d_residual, drop);
}

void Head::loss(BlockContext& c) {
  for_chunks(c, shape_.rows(), [&](Chunk chunk) {
    add_residual(c, chunk);
    const at::Tensor x = logits(c, chunk.count);
    ops::cross_entropy_with_gradient(c[S::row_loss], x, targets(c) + chunk.first, shape_.dims.vocab_size, c.loss_seed());
    add_loss(c, chunk);
    backward(c, chunk, x);
  });
  const at::Tensor& d_branch = c[c.training() && shape_.dims.dropout > 0 ? S::d_branch_in : S::d_residual_in];
  ops::column_sum(c.tensor(S::d_parameters, P::pending_bias), d_branch, c.accumulates(S::d_parameters));
}

void Head::evaluate(BlockContext& c) {
  for_chunks(c, shape_.rows(), [&](Chunk chunk) {
    add_residual(c, chunk);
    ops::cross_entropy(c[S::row_loss], logits(c, chunk.count), targets(c) + chunk.first, shape_.dims.vocab_size);
    add_loss(c, chunk);
  });
}

void Head::predict(BlockContext& c) {
  for_chunks(c, shape_.batch, [&](Chunk chunk) {
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      const std::int64_t sample = chunk.first + i, position = targets(c)[sample * shape_.length], row = sample * shape_.length + position;
      if (position < 0 || position >= shape_.length) throw InternalError("predict: targets[b, 0] must be the position to read");
      ops::add_branch(c[S::residual].narrow(0, i, 1), c[S::residual_in].narrow(0, row, 1), c[S::branch_in].narrow(0, row, 1),
                      c.tensor(S::parameters, P::pending_bias), {});
    }
    c[S::logits].narrow(0, chunk.first, chunk.count).copy_(logits(c, chunk.count).narrow(1, 0, shape_.dims.vocab_size));
  });
}

}  // namespace trainx::model::gpt2
