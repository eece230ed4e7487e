#include "model/bert/embedding.hpp"
#include "ops/embedding.hpp"
#include "ops/layer_norm.hpp"
#include "ops/residual.hpp"
#include "spec/arch/bert_slots.hpp"

namespace trainx::model::bert {

using S = spec::bert::EmbeddingSlot;
using P = spec::bert::EmbeddingTensor;

void Embedding::sum(BlockContext& c, const at::Tensor& out) const {
  ops::segment_embedding(out, c[S::tokens], c[S::token_types], c.tensor(S::word, 0), c.tensor(S::parameters, P::position), c.tensor(S::parameters, P::token_type));
}

void Embedding::forward(BlockContext& c) {
  if (!c.writes(S::residual_out)) return;
  const at::Tensor& out = c[S::residual_out];
  sum(c, out);
  ops::layer_norm(out, out, c.tensor(S::parameters, P::norm_weight), c.tensor(S::parameters, P::norm_bias), shape_.dims.layer_norm_epsilon);
  if (const ops::Dropout drop = shape_.dropout(c, S::positions)) ops::drop_out(out, out, drop);
}

void Embedding::backward(BlockContext& c) {
  const at::Tensor &x = c[S::sum], &mean = c[S::mean], &rstd = c[S::rstd], &d_sum = c[S::d_sum];
  sum(c, x);
  ops::add_branch_layer_norm({x, mean, rstd, {}}, {}, {}, {}, {}, {}, shape_.dims.layer_norm_epsilon, {});
  at::Tensor d = c[S::d_residual_out];
  if (const ops::Dropout drop = shape_.dropout(c, S::positions)) {
    ops::drop_out(d_sum, d, drop);
    d = d_sum;
  }
  const bool accumulate = c.accumulates(S::d_parameters);
  const ops::NormedSumGradients to{d_sum, {}, c.tensor(S::d_parameters, P::norm_weight), c.tensor(S::d_parameters, P::norm_bias), {}, accumulate};
  ops::add_branch_layer_norm_backward(to, {}, d, x, mean, rstd, c.tensor(S::parameters, P::norm_weight), {});
  ops::embedding_backward_tokens(c.tensor(S::d_word, 0), d_sum, c[S::tokens], c.accumulates(S::d_word), shape_.dims.pad_token);
  ops::embedding_backward_positions(c.tensor(S::d_parameters, P::position), d_sum, shape_.length, accumulate);
  ops::embedding_backward_tokens(c.tensor(S::d_parameters, P::token_type), d_sum, c[S::token_types], accumulate);
}

}  // namespace trainx::model::bert
