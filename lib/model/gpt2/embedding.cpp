#include "model/gpt2/embedding.hpp"
#include "ops/embedding.hpp"
#include "spec/arch/gpt2_slots.hpp"

namespace trainx::model::gpt2 {

using S = spec::EmbeddingSlot;

/// Undefined where a row is one document.
at::Tensor Embedding::document_starts(const BlockContext& c) const { return shape_.dims.packed ? c[S::document_starts] : at::Tensor(); }

void Embedding::forward(BlockContext& c) {
  if (!c.writes(S::residual_out)) return;
  const at::Tensor positions = c.tensor(S::wpe, 0).narrow(0, shape_.past(), shape_.length);
  ops::embedding(c[S::residual_out], c[S::tokens], c.tensor(S::wte, 0), positions, dropout(shape_, c, S::positions), document_starts(c));
}

void Embedding::backward(BlockContext& c) {
  at::Tensor d = c[S::d_residual_out];
  if (const ops::Dropout drop = dropout(shape_, c, S::positions)) {
    ops::drop_out(c[S::d_embedding], d, drop);
    d = c[S::d_embedding];
  }
  ops::embedding_backward_tokens(c.tensor(S::d_wte, 0), d, c[S::tokens], c.accumulates(S::d_wte));
  ops::embedding_backward_positions(c.tensor(S::d_wpe, 0), d, shape_.length, c.accumulates(S::d_wpe), document_starts(c));
}

}  // namespace trainx::model::gpt2
