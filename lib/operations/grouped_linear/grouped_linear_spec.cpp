#include "operations/grouped_linear/grouped_linear_spec.hpp"
#include <algorithm>

namespace trainx::operations {

using program::Gemm;

namespace {

/// One product for each expert, of rows that are spread evenly; make(rows) is of an expert. On a
/// GPU one launch multiplies the rows of all.
template <class Make>
void add_products(Cost& c, bool gpu, std::int64_t rows, std::int64_t experts, int output,
                  Make make) {
  const auto add = [&](std::int64_t some, std::int64_t count) {
    if (some == 0 || count == 0) return;
    Gemm gemm = make(some);
    gemm.count = count;
    gemm.of_experts = gpu;
    c.products.push_back({gemm, output});
  };
  if (gpu) return add(rows, 1);
  add(rows / experts + 1, rows % experts);
  add(rows / experts, experts - rows % experts);
}

}  // namespace

std::int64_t GroupedLinear::features(const Types& t) const {
  return t.parameters[weight].elements() / (experts * t.inputs[x].columns());
}

std::vector<OutputSpec> GroupedLinear::outputs(const Types& t) const {
  std::vector<OperandId> from{input(x), input(offsets), parameter(weight)};
  if (t.has_parameter(bias)) from.push_back(parameter(bias));
  return {{"expert_features", {t.compute, {t.inputs[x].rows(), features(t)}}, from}};
}

BackwardSpec GroupedLinear::backward(const Types& t) const {
  BackwardSpec b{.reads = {input(offsets)}, .inputs = {{.input = x}}, .parameters = {weight}};
  if (t.has_parameter(bias)) b.parameters.push_back(bias);
  if (t.trains(weight)) b.reads.push_back(input(x));
  if (t.wants_gradient(x)) b.reads.push_back(parameter(weight));
  return b;
}

Cost GroupedLinear::cost(Direction direction, const Types& t) const {
  const std::int64_t R = expected_rows > 0 ? expected_rows : t.inputs[x].rows(),
                     in = t.inputs[x].columns(), out = features(t);
  Cost c;
  c.scratch.resize(2);
  const bool forward = direction == Direction::forward;
  if (t.gpu && t.has_parameter(bias) && (forward || t.trains(bias)))
    c.kernels = {{KernelFamily::rows}};
  if (forward) {
    add_products(c, t.gpu, R, experts, y, [&](std::int64_t rows) { return Gemm{rows, out, in}; });
    return c;
  }
  const auto none = program::none;
  if (t.wants_gradient(x) && adds_gradient) {
    c.scratch[own_gradient] = {"own_gradient", {t.compute, {t.inputs[x].rows(), in}}};
    c.kernels.push_back({KernelFamily::rows});
    c.element_bytes = 3 * t.inputs[x].bytes();
  }
  if (t.wants_gradient(x))
    add_products(c, t.gpu, R, experts, none, [&](std::int64_t rows) {
      return Gemm{rows, in, out};
    });
  if (!t.trains(weight)) return c;
  add_products(c, t.gpu, R, experts, none, [&](std::int64_t rows) {
    return Gemm{.m = out, .n = in, .k = rows, .a_transposed = true};
  });
  if (t.host_16_bits())
    c.scratch[cast] = {"cast", {DType::f32, {std::min(R, cast_rows) * (in + out)}}};
  return c;
}

std::optional<Split> GroupedLinear::split(SplitAxis axis, const Types& t) const {
  if (axis == SplitAxis::heads) return std::nullopt;
  const auto last = static_cast<int>(t.parameters[weight].dims.size()) - 1;
  Split s;
  s.parameters.resize(t.parameters.size());
  s.parameters[weight] = axis == SplitAxis::column ? last - 1 : last;
  if (axis == SplitAxis::column && t.has_parameter(bias)) s.parameters[bias] = 1;
  s.sums_outputs = axis == SplitAxis::row;
  s.sums_inputs = axis == SplitAxis::column;
  return s;
}

bool GroupedLinear::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
