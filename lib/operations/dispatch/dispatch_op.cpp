#include "operations/dispatch/dispatch.hpp"
#include "operations/dispatch/dispatch_spec.hpp"
#include "operations/dispatch_to_ranks/dispatch_to_ranks.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

namespace {

/// Of the choices of all ranks' tokens those that have room: each expert counts its own, as ranks
/// count those of their experts. Returns those of one's own tokens.
Tensor own_kept_choices(const Dispatch& of, const OpContext& c, const Tensor& kept) {
  const DispatchToRanks rooms{
      .experts = of.experts, .ranks = of.experts, .capacity = of.capacity, .drops = true};
  keep_choices(rooms, kept, c.input(Dispatch::all));
  const std::int64_t tokens = kept.size(0) / of.ranks;
  return kept.narrow(0, c.row_part() * tokens, tokens);
}

}  // namespace

void Dispatch::run_forward(const OpContext& c) const {
  const auto written = [&](int o) { return c.writes(o) ? c.output(o) : Tensor(); };
  const Tensor to_places = written(places), to_offsets = written(offsets);
  if (to_places.defined() || to_offsets.defined()) {
    if (ranks > 1)
      sort_by_expert(to_places, to_offsets, own_kept_choices(*this, c, c.scratch(0)), experts,
                     {.sparse = true});
    else
      sort_by_expert(to_places, to_offsets, c.input(indices), experts, {capacity, sparse});
  }
  if (c.writes(rows)) dispatch_rows(c.output(rows), by_row(c.input(x)), c.output(places));
}

void Dispatch::run_backward(const OpContext& c) const {
  dispatch_rows_backward(c.input_gradient(x), c.output_gradient(rows), c.output(places),
                         c.addend(x), sparse);
}

}  // namespace trainx::operations
