#include "operations/embedding/embedding.hpp"
#include "operations/embedding/embedding_spec.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::operations {

void Embedding::run_forward(const OpContext& c) const {
  if (!c.writes(out)) return;
  if (table_parts > 1) return run_part_forward(c);
  if (const Tensor types = c.input(token_types); types.defined())
    return segment_embedding(c.output(out), c.input(tokens), types, c.parameter(token),
                             positions_of(c, c.parameter(position)), c.parameter(type));
  const Tensor table = c.parameter(position);
  if (!table.defined() || scale != 1)
    return scaled_embedding(c.output(out), c.input(tokens), c.parameter(token),
                            table.defined() ? positions_of(c, table) : Tensor(), scale,
                            c.dropout(dropout, positions, c.length()), documents_of(c),
                            scales_tokens);
  embedding(c.output(out), c.input(tokens), c.parameter(token), positions_of(c, table),
            c.dropout(dropout, positions, c.length()), documents_of(c));
}

/// From the first one that rows without documents have.
Tensor Embedding::positions_of(const OpContext& c, const Tensor& table) const {
  if (c.input(starts).defined()) return table.narrow(0, first_position, c.length());
  return table.narrow(0, first_position + c.past() + c.first_in_sample(), c.input(tokens).size(1));
}

DocumentStarts Embedding::documents_of(const OpContext& c) const {
  return {c.input(starts), c.first_in_sample()};
}

Tensor Embedding::part_ids(const OpContext& c, std::int64_t rows, std::int64_t without) const {
  const Tensor to = c.scratch(ids);
  ids_of_part(to, c.input(tokens), {c.layer_part() * rows, rows}, without);
  return to;
}

void Embedding::run_part_forward(const OpContext& c) const {
  const Tensor table = c.parameter(token);
  EmbeddingPart part{.word = table, .scale = scale, .scales_tokens = scales_tokens};
  if (c.layer_part() == 0) {
    part.starts = documents_of(c);
    part.token_types = c.input(token_types);
    if (const Tensor all = c.parameter(position); all.defined())
      part.position = positions_of(c, all);
    part.type = c.parameter(type);
  }
  embed_part(c.output(out), part_ids(c, table.size(0), program::none), part);
}

void Embedding::run_tables_backward(const OpContext& c, Tensor d, const Tensor& token_ids,
                                    std::int64_t without_gradient) const {
  const auto scale_gradient = [&] {
    if (scale == 1) return;
    scale_rows(c.scratch(masked), d, scale);
    d = c.scratch(masked);
  };
  if (!scales_tokens) scale_gradient();
  const bool adds_places = table_parts == 1 || c.layer_part() == 0;
  if (const Tensor table = c.parameter_gradient(position); table.defined()) {
    const bool accumulate = c.accumulates(position);
    const std::int64_t first = first_position +
                               (c.input(starts).defined() ? 0 : c.first_in_sample());
    if (!adds_places && !accumulate) clear(table);
    if (adds_places && first > 0 && !accumulate) clear(table.narrow(0, 0, first));
    if (adds_places)
      embedding_backward_positions(table.narrow(0, first, table.size(0) - first), d,
                                   c.input(tokens).size(1), accumulate, documents_of(c));
  }
  if (const Tensor table = c.parameter_gradient(type); table.defined()) {
    if (adds_places)
      embedding_backward_tokens(table, d, c.input(token_types), c.accumulates(type));
    else if (!c.accumulates(type))
      clear(table);
  }
  if (scales_tokens) scale_gradient();
  if (const Tensor table = c.parameter_gradient(token); table.defined())
    embedding_backward_tokens(table, d, token_ids, c.accumulates(token), without_gradient);
}

void Embedding::run_backward(const OpContext& c) const {
  Tensor d = c.output_gradient(out);
  if (const Dropout drop = c.dropout(dropout, positions, c.length())) {
    drop_out(c.scratch(masked), d, drop);
    d = c.scratch(masked);
  }
  if (table_parts == 1) return run_tables_backward(c, d, c.input(tokens), untrained_token);
  const Tensor table = c.parameter_gradient(token);
  if (!table.defined()) return run_tables_backward(c, d, {}, program::none);
  // whose row is elsewhere has the number of rows, which learns nothing
  run_tables_backward(c, d, part_ids(c, table.size(0), untrained_token), table.size(0));
}

}  // namespace trainx::operations
