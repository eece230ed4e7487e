#include "model/gpt2/embedding.hpp"
#include "operations/embedding/embedding.hpp"
#include "spec/arch/gpt2_slots.hpp"

namespace trainx::model::gpt2 {

using spec::EmbeddingSlot;

/// Undefined where a row is one document.
Tensor Embedding::document_starts(const BlockContext& c) const {
  return shape_.dims.packed ? c[EmbeddingSlot::document_starts] : Tensor();
}

void Embedding::forward(BlockContext& c) {
  if (!c.writes(EmbeddingSlot::residual_out)) return;
  const Tensor positions = c.tensor(EmbeddingSlot::wpe, 0).narrow(0, shape_.past(), shape_.length);
  operations::embedding(c[EmbeddingSlot::residual_out], c[EmbeddingSlot::tokens],
                        c.tensor(EmbeddingSlot::wte, 0), positions,
                        dropout(shape_, c, EmbeddingSlot::positions), document_starts(c));
}

void Embedding::backward(BlockContext& c) {
  Tensor d = c[EmbeddingSlot::d_residual_out];
  if (const operations::Dropout drop = dropout(shape_, c, EmbeddingSlot::positions)) {
    operations::drop_out(c[EmbeddingSlot::d_embedding], d, drop);
    d = c[EmbeddingSlot::d_embedding];
  }
  operations::embedding_backward_tokens(c.tensor(EmbeddingSlot::d_wte, 0), d,
                                        c[EmbeddingSlot::tokens],
                                        c.accumulates(EmbeddingSlot::d_wte));
  operations::embedding_backward_positions(c.tensor(EmbeddingSlot::d_wpe, 0), d, shape_.length,
                                           c.accumulates(EmbeddingSlot::d_wpe), document_starts(c));
}

}  // namespace trainx::model::gpt2
