#include "model/bert/embedding.hpp"
#include "ops/embedding.hpp"
#include "ops/layer_norm.hpp"
#include "ops/residual.hpp"
#include "spec/arch/bert_slots.hpp"

namespace trainx::model::bert {

using spec::bert::EmbeddingSlot;
using spec::bert::EmbeddingTensor;

void Embedding::sum(BlockContext& c, const Tensor& out) const {
  ops::segment_embedding(out, c[EmbeddingSlot::tokens], c[EmbeddingSlot::token_types],
                         c.tensor(EmbeddingSlot::word, 0),
                         c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::position),
                         c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::token_type));
}

void Embedding::forward(BlockContext& c) {
  if (!c.writes(EmbeddingSlot::residual_out)) return;
  const Tensor& out = c[EmbeddingSlot::residual_out];
  sum(c, out);
  ops::layer_norm(out, out, c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::norm_weight),
                  c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::norm_bias),
                  shape_.dims.layer_norm_epsilon);
  if (const ops::Dropout drop = shape_.dropout(c, EmbeddingSlot::positions))
    ops::drop_out(out, out, drop);
}

void Embedding::backward(BlockContext& c) {
  const Tensor &x = c[EmbeddingSlot::sum], &mean = c[EmbeddingSlot::mean],
               &rstd = c[EmbeddingSlot::rstd], &d_sum = c[EmbeddingSlot::d_sum];
  sum(c, x);
  ops::add_branch_layer_norm({x, mean, rstd, {}}, {}, {}, {}, {}, {},
                             shape_.dims.layer_norm_epsilon, {});
  Tensor d = c[EmbeddingSlot::d_residual_out];
  if (const ops::Dropout drop = shape_.dropout(c, EmbeddingSlot::positions)) {
    ops::drop_out(d_sum, d, drop);
    d = d_sum;
  }
  const bool accumulate = c.accumulates(EmbeddingSlot::d_parameters);
  const ops::NormedSumGradients to{
      d_sum,
      {},
      c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::norm_weight),
      c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::norm_bias),
      {},
      accumulate};
  ops::add_branch_layer_norm_backward(
      to, {}, d, x, mean, rstd, c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::norm_weight),
      {});
  ops::embedding_backward_tokens(c.tensor(EmbeddingSlot::d_word, 0), d_sum,
                                 c[EmbeddingSlot::tokens], c.accumulates(EmbeddingSlot::d_word),
                                 shape_.dims.pad_token);
  ops::embedding_backward_positions(
      c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::position), d_sum, shape_.length,
      accumulate);
  ops::embedding_backward_tokens(c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::token_type),
                                 d_sum, c[EmbeddingSlot::token_types], accumulate);
}

}  // namespace trainx::model::bert
