#include "operations/local_attention/local_attention_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> LocalAttention::outputs(const Types& t) const {
  return {{"attention_out",
           {t.compute, {batch * length, heads, head_size}},
           {input(qkv), input(lengths)}},
          {"lse", {DType::f32, {batch, length, heads}}, {input(qkv), input(lengths)}}};
}

BackwardSpec LocalAttention::backward(const Types&) const {
  return {.reads = {input(qkv), input(lengths), output(out), output(lse)},
          .inputs = {{.input = qkv}}};
}

Cost LocalAttention::cost(Direction direction, const Types& t) const {
  Cost c;
  const bool forward = direction == Direction::forward;
  const auto T = static_cast<double>(length),
             outside = std::max(0.0, T - static_cast<double>(window)),
             seen = T * T - outside * (outside + 1);
  // backward: the scores again, and four gradients
  const double products = forward ? 2 : 5;
  c.attention = AttentionCost{products * 2 * static_cast<double>(batch * heads * head_size) * seen,
                              batch * length * heads, head_size, true};
  if (forward) c.attention_output = c.element_output = out;
  const TensorType result{t.compute, {batch * length, heads, head_size}};
  // backward: both and their gradients
  c.element_bytes = (t.inputs[qkv].bytes() + result.bytes()) * (forward ? 1 : 2);
  return c;
}

std::optional<Split> LocalAttention::split(SplitAxis axis, const Types&) const {
  if (axis != SplitAxis::heads) return std::nullopt;
  return Split{};  // heads know nothing of each other
}

bool LocalAttention::has_gpu_kernel(const Types&) const { return false; }

}  // namespace trainx::operations
