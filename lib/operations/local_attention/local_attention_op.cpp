#include "operations/local_attention/local_attention.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void LocalAttention::run_forward(const OpContext& c) const {
  if (c.writes(out) || c.writes(lse))
    local_attention(*this, c.output(out), c.output(lse), by_row(c.input(qkv)), c.input(lengths));
}

void LocalAttention::run_backward(const OpContext& c) const {
  local_attention_backward(*this, c.input_gradient(qkv), c.output_gradient(out),
                           by_row(c.input(qkv)), c.output(out), c.output(lse), c.input(lengths));
}

}  // namespace trainx::operations
