#include "operations/head_norm/head_norm_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> HeadNorm::outputs(const Types& t) const {
  const TensorType statistic{DType::f32, {t.inputs[x].rows(), groups()}};
  std::vector<OutputSpec> out{{"heads_normed", t.inputs[x], {input(x)}},
                              {"head_mean", rms ? TensorType{} : statistic, {input(x)}},
                              {"head_rstd", statistic, {input(x)}}};
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p)
    if (t.has_parameter(p)) out[y].from.push_back(parameter(p));
  return out;
}

BackwardSpec HeadNorm::backward(const Types& t) const {
  BackwardSpec b{.reads = {input(x), output(rstd)},
                 .inputs = {{.input = x, .over = y, .comes_along = true}}};
  if (!rms) b.reads.push_back(output(mean));
  for (const int p : {static_cast<int>(query_weight), static_cast<int>(key_weight)})
    if (t.has_parameter(p)) b.reads.push_back(parameter(p));
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p)
    if (t.has_parameter(p)) b.parameters.push_back(p);
  return b;
}

Cost HeadNorm::cost(Direction direction, const Types& t) const {
  constexpr double forward_flops = 8, backward_flops = 15;  // counted off the formulas
  Cost c;
  const bool forward = direction == Direction::forward;
  c.kernels = {{forward ? KernelFamily::norm_forward : KernelFamily::norm_backward}};
  c.element_flops = static_cast<double>(t.inputs[x].elements()) *
                    (forward ? forward_flops : backward_flops);
  c.element_bytes = t.inputs[x].bytes() * (forward ? 2 : 3);
  if (forward) c.element_output = y;
  return c;
}

std::optional<Split> HeadNorm::split(SplitAxis axis, const Types& t) const {
  if (axis != SplitAxis::heads || whole) return std::nullopt;
  Split s;
  s.parameters.resize(t.parameters.size());
  for (const int p : {int{query_weight}, int{query_bias}, int{key_weight}, int{key_bias}})
    // heads share one of a head's elements
    if (t.has_parameter(p) && t.parameters[static_cast<std::size_t>(p)].elements() != head_size)
      s.parameters[static_cast<std::size_t>(p)] = 0;
  return s;
}

bool HeadNorm::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
