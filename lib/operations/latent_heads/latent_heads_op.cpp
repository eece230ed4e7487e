#include "operations/latent_heads/latent_heads.hpp"
#include "operations/latent_heads/latent_heads_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void LatentHeads::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  const Tensor q = by_row(c.input(queries));
  operations::latent_heads(*this, rows_like(q, by_row(c.output(y)), c.past()),
                           {q, by_row(c.input(keys_values)), by_row(c.input(latent))});
}

void LatentHeads::run_backward(const OpContext& c) const {
  latent_heads_backward(
      *this, {c.input_gradient(queries), c.input_gradient(keys_values), c.input_gradient(latent)},
      c.output_gradient(y), {c.addend(queries), c.addend(keys_values), c.addend(latent)});
}

}  // namespace trainx::operations
