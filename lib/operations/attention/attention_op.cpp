#include "core/error.hpp"
#include "operations/attention/attention.hpp"
#include "operations/attention/attention_spec.hpp"
#include "operations/attention/grouped_attention.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::operations {
namespace {

/// [N, (H + 2 K) * D] as [B, T, 3, H, D].
Tensor packed(const Attention& a, const Tensor& qkv) {
  if (a.query_heads != a.key_value_heads)
    throw InternalError("attention with fewer key-value heads has no kernel");
  return qkv.view({a.batch, a.length, 3, a.query_heads, a.head_size});
}
Tensor by_sample(const Attention& a, const Tensor& x) {
  return x.view({a.batch, a.length, a.query_heads, a.head_size});
}

/// With the number of its first head among the layer's, by which slopes and random numbers go.
Attention at_its_heads(Attention a, const OpContext& c) {
  if (a.heads_of_layer > 0) a.first_head = c.head_part() * a.query_heads;
  return a;
}

/// Of one value for each head that the rank has weights of, those of the heads at hand.
Tensor of_heads(const Attention& a, const Tensor& x) {
  return x.defined() && x.size(0) != a.query_heads
             ? x.narrow(0, a.first_head % x.size(0), a.query_heads)
             : x;
}

AttentionInputs inputs(const Attention& a, const OpContext& c, const Tensor& qkv) {
  Dropout dropout = c.dropout(a.dropout, Attention::positions, a.length, Attention::dropout_site);
  dropout.first_head = a.first_head;
  return {qkv,
          c.input(Attention::seen),
          dropout,
          of_heads(a, c.parameter(Attention::sinks)),
          c.input(Attention::memory),
          c.parameter(Attention::bias_table)};
}
AttentionGradients gradients(const Attention& a, const OpContext& c) {
  const auto parameter = [&](int p, int heads_dimension) -> AttentionGradients::Parameter {
    const Tensor sum = c.parameter_gradient(p);
    if (!sum.defined() || sum.size(heads_dimension) == a.query_heads)
      return {sum, c.accumulates(p)};
    if (!c.accumulates(p)) clear(sum);  // other heads' share is nothing here
    return {heads_dimension == 0 ? of_heads(a, sum) : sum, true};
  };
  return {c.input_gradient(Attention::qkv), c.input_gradient(Attention::memory),
          parameter(Attention::sinks, 0), parameter(Attention::bias_table, 1)};
}

}  // namespace

void Attention::run_forward(const OpContext& c) const {
  if (!c.writes(out) && !c.writes(lse)) return;
  const std::int64_t rows = batch * length, past = c.past();
  // of a decoder the product has room for tokens to come
  const Tensor made = memory_length > 0 ? c.input(qkv) : c.input(qkv).narrow(0, 0, past + rows);
  if (!is_plain()) {
    const Attention here = at_its_heads(*this, c);
    return grouped_attention(here, c.output(out), c.output(lse), inputs(here, c, made));
  }
  if (past > 0)
    return cached_attention(c.output(out), made.view({past + rows, 3, query_heads, head_size}));
  const Tensor to = by_sample(*this, c.output(out)), from = packed(*this, made);
  switch (mask) {
    case AttentionMask::causal: return causal_attention(to, c.output(lse), from, kind);
    case AttentionMask::lengths:
      return bidirectional_attention(to, c.output(lse), from, c.input(seen), kind);
    case AttentionMask::documents:
      return document_attention(to, c.output(lse), from, c.input(seen), kind);
  }
}

void Attention::run_backward(const OpContext& c) const {
  if (!is_plain()) {
    const Attention here = at_its_heads(*this, c);
    return grouped_attention_backward(here, gradients(here, c), c.output_gradient(out),
                                      inputs(here, c, c.input(qkv)), c.output(out), c.output(lse));
  }
  const Tensor d_qkv = packed(*this, c.input_gradient(qkv)),
               d_out = by_sample(*this, c.output_gradient(out)), from = packed(*this, c.input(qkv)),
               to = by_sample(*this, c.output(out)), sums = c.output(lse);
  const BiasGradient of_bias{c.parameter_gradient(qkv_bias), c.accumulates(qkv_bias)};
  switch (mask) {
    case AttentionMask::causal:
      return causal_attention_backward(d_qkv, d_out, from, to, sums, kind, of_bias);
    case AttentionMask::lengths:
      return bidirectional_attention_backward(d_qkv, d_out, from, to, sums, c.input(seen), kind,
                                              of_bias);
    case AttentionMask::documents:
      return document_attention_backward(d_qkv, d_out, from, to, sums, c.input(seen), kind);
  }
}

}  // namespace trainx::operations
