#include "model/bert/embedding.hpp"
#include "operations/embedding/embedding.hpp"
#include "operations/norm/layer_norm.hpp"
#include "operations/norm/residual.hpp"
#include "spec/arch/bert_slots.hpp"

namespace trainx::model::bert {

using spec::bert::EmbeddingSlot;
using spec::bert::EmbeddingTensor;

void Embedding::sum(BlockContext& c, const Tensor& out) const {
  operations::segment_embedding(out, c[EmbeddingSlot::tokens], c[EmbeddingSlot::token_types],
                                c.tensor(EmbeddingSlot::word, 0),
                                c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::position),
                                c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::token_type));
}

void Embedding::forward(BlockContext& c) {
  if (!c.writes(EmbeddingSlot::residual_out)) return;
  const Tensor& out = c[EmbeddingSlot::residual_out];
  sum(c, out);
  operations::layer_norm(out, out,
                         c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::norm_weight),
                         c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::norm_bias),
                         shape_.dims.layer_norm_epsilon);
  if (const operations::Dropout drop = shape_.dropout(c, EmbeddingSlot::positions))
    operations::drop_out(out, out, drop);
}

void Embedding::backward(BlockContext& c) {
  const Tensor &x = c[EmbeddingSlot::sum], &mean = c[EmbeddingSlot::mean],
               &rstd = c[EmbeddingSlot::rstd], &d_sum = c[EmbeddingSlot::d_sum];
  sum(c, x);
  operations::add_branch_layer_norm({x, mean, rstd, {}}, {}, {}, {}, {}, {},
                                    shape_.dims.layer_norm_epsilon, {});
  Tensor d = c[EmbeddingSlot::d_residual_out];
  if (const operations::Dropout drop = shape_.dropout(c, EmbeddingSlot::positions)) {
    operations::drop_out(d_sum, d, drop);
    d = d_sum;
  }
  const bool accumulate = c.accumulates(EmbeddingSlot::d_parameters);
  const operations::NormedSumGradients to{
      d_sum,
      {},
      c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::norm_weight),
      c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::norm_bias),
      {},
      accumulate};
  operations::add_branch_layer_norm_backward(
      to, {}, d, x, mean, rstd, c.tensor(EmbeddingSlot::parameters, EmbeddingTensor::norm_weight),
      {});
  operations::embedding_backward_tokens(
      c.tensor(EmbeddingSlot::d_word, 0), d_sum, c[EmbeddingSlot::tokens],
      c.accumulates(EmbeddingSlot::d_word), shape_.dims.pad_token);
  operations::embedding_backward_positions(
      c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::position), d_sum, shape_.length,
      accumulate);
  operations::embedding_backward_tokens(
      c.tensor(EmbeddingSlot::d_parameters, EmbeddingTensor::token_type), d_sum,
      c[EmbeddingSlot::token_types], accumulate);
}

}  // namespace trainx::model::bert
