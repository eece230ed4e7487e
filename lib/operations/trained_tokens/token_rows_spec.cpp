#include "operations/trained_tokens/token_rows_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> TokenRows::outputs(const Types& t) const {
  OutputSpec out{"with_rows", t.inputs[base], {input(tokens), input(base), parameter(rows)}};
  if (t.has_parameter(table)) out.from.push_back(parameter(table));
  return {std::move(out)};
}

BackwardSpec TokenRows::backward(const Types& t) const {
  BackwardSpec b{.reads = {}, .inputs = {{.input = base, .over = y}}, .parameters = {rows}};
  if (t.trains(rows)) b.reads.push_back(input(tokens));
  return b;
}

Cost TokenRows::cost(Direction direction, const Types& t) const {
  Cost c;
  c.scratch.resize(scratch_count);
  const TensorType& x = t.inputs[base];
  const bool forward = direction == Direction::forward;
  const bool places_tokens = forward || t.trains(rows), in_parts = part_rows > 0;
  if (places_tokens) c.scratch[places] = {"places", {DType::i32, {x.rows()}}};
  if (places_tokens && in_parts) {
    c.scratch[own] = {"own_tokens", {DType::i32, {x.rows()}}};
    c.kernels = {{KernelFamily::embedding}};
  }
  if (forward) {
    c.kernels.push_back({KernelFamily::rows, 2});
    c.element_bytes = 2 * x.bytes();
    c.element_output = y;
    return c;
  }
  if (!t.trains(rows)) return c;
  // ids are sorted by radix, as those of an embedding
  c.kernels.push_back({KernelFamily::rows});
  c.kernels.push_back({KernelFamily::embedding, 8});
  c.element_bytes = x.bytes();
  if (scale == 1) return c;
  c.kernels.push_back({KernelFamily::embedding});
  c.scratch[scaled] = {"scaled", x};
  return c;
}

std::optional<Split> TokenRows::split(SplitAxis axis, const Types& t) const {
  if (axis != SplitAxis::row) return std::nullopt;
  Split s{.parameters = std::vector<std::optional<int>>(t.parameters.size()), .sums_outputs = true};
  if (t.has_parameter(table)) s.parameters[table] = 0;
  return s;
}

bool TokenRows::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
