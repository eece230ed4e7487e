#include "operations/columns/columns.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"
#include "operations/shared_heads/shared_heads_spec.hpp"

namespace trainx::operations {
namespace {

/// Of the rank's key, and of its value: where each lies among all, and how wide it is.
struct OwnHead {
  std::int64_t key = 0, value = 0;
};
OwnHead own_head(const SharedHeads& op, std::int64_t part) {
  const std::int64_t head = part * op.key_value_heads / op.ranks;
  return {head * op.head_size, op.key_value_heads * op.head_size + head * op.value_size};
}

}  // namespace

void SharedHeads::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  const Tensor q = by_row(c.input(queries)), kv = by_row(c.input(keys_values)), to = c.output(y);
  const OwnHead own = own_head(*this, c.layer_part());
  copy_columns_of_rows({to, 0}, {q, 0}, q.size(1));
  copy_columns_of_rows({to, q.size(1)}, {kv, own.key}, head_size);
  copy_columns_of_rows({to, q.size(1) + head_size}, {kv, own.value}, value_size);
}

void SharedHeads::run_backward(const OpContext& c) const {
  const Tensor d = c.output_gradient(y);
  const std::int64_t of_queries = d.size(1) - head_size - value_size;
  if (const Tensor dq = c.input_gradient(queries); dq.defined())
    copy_columns_of_rows({dq, 0}, {d, 0}, of_queries);
  const Tensor dkv = c.input_gradient(keys_values);
  if (!dkv.defined()) return;
  const OwnHead own = own_head(*this, c.layer_part());
  clear(dkv);
  copy_columns_of_rows({dkv, own.key}, {d, of_queries}, head_size);
  copy_columns_of_rows({dkv, own.value}, {d, of_queries + head_size}, value_size);
}

}  // namespace trainx::operations
