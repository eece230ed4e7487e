#include "operations/trained_tokens/token_logits_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> TokenLogits::outputs(const Types& t) const {
  return {{"logits_with_rows", t.inputs[base], {input(x), input(base), parameter(rows)}}};
}

BackwardSpec TokenLogits::backward(const Types& t) const {
  BackwardSpec b{
      .reads = {}, .inputs = {{.input = base, .over = y}, {.input = x}}, .parameters = {rows}};
  if (t.trains(rows)) b.reads.push_back(input(x));
  if (t.wants_gradient(x)) b.reads.push_back(parameter(rows));
  return b;
}

Cost TokenLogits::cost(Direction direction, const Types& t) const {
  Cost c;
  c.scratch.resize(scratch_count);
  const TensorType& logits = t.inputs[base];
  const std::int64_t N = logits.rows(), C = t.inputs[x].columns(), k = std::ssize(ids);
  const TensorType narrow{logits.dtype, {N, k}};
  c.scratch[columns] = {"columns", narrow};
  c.kernels = {{KernelFamily::rows, 2}};
  if (direction == Direction::forward) {
    c.products = {{{.m = N, .n = k, .k = C}, y}};
    c.element_bytes = 2 * logits.bytes() + 2 * narrow.bytes();
    c.element_output = y;
    return c;
  }
  c.element_bytes = 3 * narrow.bytes();
  if (t.wants_gradient(x)) c.products.push_back({{.m = N, .n = C, .k = k}});
  if (t.trains(rows)) {
    c.products.push_back({{.m = k, .n = C, .k = N, .a_transposed = true}});
    if (t.host_16_bits()) c.scratch[cast] = {"cast", {DType::f32, {N * (C + k)}}};
  }
  return c;
}

std::optional<Split> TokenLogits::split(SplitAxis axis, const Types& t) const {
  if (axis != SplitAxis::column) return std::nullopt;
  return Split{.parameters = std::vector<std::optional<int>>(t.parameters.size()),
               .sums_inputs = true};
}

// A CPU's logits are fp32 whatever is computed in.
bool TokenLogits::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
