#include "operations/dispatch/dispatch.hpp"
#include "operations/dispatch_to_ranks/dispatch_to_ranks.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void DispatchToRanks::run_forward(const OpContext& c) const {
  const auto written = [&](int o) { return c.writes(o) ? c.output(o) : Tensor(); };
  const Tensor of_experts = c.input(indices);
  if (capacity > 0 && c.writes(kept)) keep_choices(*this, c.output(kept), of_experts);
  const Tensor chosen = capacity > 0 ? c.output(kept) : of_experts;
  if (c.writes(places)) place_tokens(*this, c.output(places), chosen);
  if (const Tensor to = written(offsets); to.defined())
    sort_by_expert({}, to, chosen, experts, {.sparse = true});
  const SlotChoices slots{written(slot_weights), written(owners)};
  if (slots.weights.defined() || slots.owners.defined())
    fill_slots(*this, slots, c.input(weights), chosen, c.output(places));
  if (c.writes(rows)) dispatch_rows(c.output(rows), by_row(c.input(x)), c.output(places));
}

void DispatchToRanks::run_backward(const OpContext& c) const {
  if (const Tensor to = c.input_gradient(x); to.defined())
    dispatch_rows_backward(to, c.output_gradient(rows), c.output(places), c.addend(x), true);
  if (const Tensor to = c.input_gradient(weights); to.defined())
    slot_weights_backward(*this, to, c.output_gradient(slot_weights), c.input(indices),
                          c.output(places));
}

}  // namespace trainx::operations
