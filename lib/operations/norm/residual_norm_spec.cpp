#include "operations/norm/residual_norm_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> ResidualNorm::outputs(const Types& t) const {
  const TensorType& x = t.inputs[residual];
  // of the rows that are looked at
  const std::int64_t n = t.has_input(rows) ? t.inputs[rows].rows() : x.rows();
  const TensorType like{x.dtype, {n, x.columns()}}, statistic{DType::f32, {n}};
  std::vector<OutputSpec> out(norms ? 4 : 1);
  const OperandId whole = adds ? output(sum) : input(residual);
  if (adds) {
    out[sum] = {"residual", like, {input(residual), input(branch)}};
    for (const int p :
         {static_cast<int>(bias), static_cast<int>(before_weight), static_cast<int>(before_shift)})
      if (t.has_parameter(p)) out[sum].from.push_back(parameter(p));
    if (dropout > 0) out[sum].from.push_back(input(positions));
  }
  if (!norms) return out;
  if (!rms) out[mean] = {"mean", statistic, {whole}};
  out[rstd] = {"rstd", statistic, {whole}};
  out[normed] = {"normed", like, {whole}, true};
  if (!rms) out[normed].from.push_back(output(mean));
  out[normed].from.push_back(output(rstd));
  for (const int p : {static_cast<int>(weight), static_cast<int>(shift)})
    if (t.has_parameter(p)) out[normed].from.push_back(parameter(p));
  return out;
}

BackwardSpec ResidualNorm::backward(const Types& t) const {
  BackwardSpec b;
  if (norms) {
    b.reads = {adds ? output(sum) : input(residual)};
    if (!rms) b.reads.push_back(output(mean));
    b.reads.push_back(output(rstd));
    if (t.has_parameter(weight)) b.reads.push_back(parameter(weight));
  }
  b.inputs = {{.input = residual,
               .over = norms ? static_cast<int>(normed) : program::none,
               .comes_along = true}};
  if (adds && (dropout > 0 || scales())) {
    if (dropout > 0) b.reads.push_back(input(positions));
    b.inputs.push_back({.input = branch, .comes_along = true});
  } else if (adds) {
    b.inputs.push_back({.input = branch, .same_as = residual});
  }
  for (const int p : {static_cast<int>(weight), static_cast<int>(shift)})
    if (norms && t.has_parameter(p)) b.parameters.push_back(p);
  if (t.has_parameter(bias)) b.parameters.push_back(bias);
  return b;
}

/// On a CPU both are left out together.
bool ResidualNorm::has_unused_gradients(const Types& t) const {
  const int frozen = !t.trains(weight) + !t.trains(shift);
  return norms && !any_form && (t.gpu ? frozen > 0 : frozen == 1);
}

Cost ResidualNorm::cost(Direction direction, const Types& t) const {
  // counted off the formulas: a sum and a norm, and their gradients
  constexpr double forward_flops = 9, backward_flops = 16;
  Cost c;
  const bool forward = direction == Direction::forward;
  c.kernels = {{forward ? KernelFamily::norm_forward : KernelFamily::norm_backward}};
  const TensorType& x = t.inputs[residual];
  const std::int64_t n = t.has_input(rows) ? t.inputs[rows].rows() : x.rows();
  c.element_flops = static_cast<double>(n * x.columns()) *
                    (forward ? forward_flops : backward_flops);
  if (forward) c.element_output = norms ? normed : sum;
  const TensorType row{x.dtype, {n, x.columns()}};
  // forward: operands, the sum, its norm; backward: both gradients, the sum, the sum's gradient
  c.element_bytes = row.bytes() * (forward ? (adds ? 3 : 1) + norms : adds ? 4 : 3);
  c.scratch.resize(1);
  if (!forward && has_unused_gradients(t))
    c.scratch[unused] = {"unused_gradients", {DType::f32, {2 * x.columns()}}};
  if (forward || !t.has_input(rows)) return c;
  // rows that were picked send their gradients back; then all rows are dropped out and summed
  c.kernels.push_back({KernelFamily::rows});
  if (dropout > 0) c.kernels.push_back({KernelFamily::dropout});
  if (t.has_parameter(bias) && t.trains(bias)) c.kernels.push_back({KernelFamily::column_sum});
  return c;
}

std::optional<Split> ResidualNorm::split(SplitAxis axis, const Types& t) const {
  // a norm is of whole rows, and what is dropped follows from a place in them
  const bool is_sum = adds && !norms && dropout == 0 && !t.has_input(rows) &&
                      std::ranges::none_of(t.parameters, &TensorType::defined);
  if (axis != SplitAxis::column || !is_sum) return std::nullopt;
  return Split{.parameters = std::vector<std::optional<int>>(t.parameters.size())};
}

bool ResidualNorm::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
