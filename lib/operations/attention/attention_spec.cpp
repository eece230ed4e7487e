#include "operations/attention/attention_spec.hpp"

namespace trainx::operations {
namespace {

/// Multiply-adds of the scores, or of their product with the values. Documents: the most there can
/// be, one to a row.
double product_flops(const Attention& a) {
  const auto T = static_cast<double>(a.length);
  const double keys = a.memory_length > 0 ? static_cast<double>(a.memory_length) : T,
               all = a.mask == AttentionMask::lengths ? T * keys : T * (T + 1) / 2,
               outside = T - static_cast<double>(a.window),
               seen = a.window > 0 && outside > 0 ? all - outside * (outside + 1) / 2 : all;
  return 2.0 * static_cast<double>(a.batch * a.query_heads * a.head_size) * seen;
}

}  // namespace

bool Attention::is_fused(bool gpu) const {
  return kind != AttentionKind::math && !(gpu && soft_cap > 0);
}

std::vector<OutputSpec> Attention::outputs(const Types& t) const {
  std::vector<OperandId> from{input(qkv)};
  if (memory_length > 0) from.push_back(input(memory));
  if (bias.buckets > 0) from.push_back(parameter(bias_table));
  if (mask != AttentionMask::causal) from.push_back(input(seen));
  const std::int64_t N = batch * length;
  return {{"attention_out", {t.compute, {N, query_heads, head_size}}, from},
          {"lse", {DType::f32, {batch, length, query_heads}}, from}};
}

BackwardSpec Attention::backward(const Types&) const {
  BackwardSpec b{.reads = {input(qkv), output(out), output(lse)}, .inputs = {{.input = qkv}}};
  if (mask != AttentionMask::causal) b.reads.push_back(input(seen));
  if (memory_length > 0) {
    b.reads.push_back(input(memory));
    b.inputs.push_back({.input = memory});
  }
  if (bias.buckets > 0) {
    b.reads.push_back(parameter(bias_table));
    b.parameters.push_back(bias_table);
  }
  return b;
}

Cost Attention::cost(Direction direction, const Types& t) const {
  Cost c;
  // backward: the scores again, and four gradients
  const double products = direction == Direction::forward ? 2 : 5;
  c.attention = AttentionCost{products * product_flops(*this), batch * length * query_heads,
                              head_size, is_fused(t.gpu)};
  if (direction == Direction::forward) c.attention_output = c.element_output = out;
  const TensorType result{t.compute, {batch * length, query_heads, head_size}};
  // backward: both and their gradients
  const double keys = memory_length > 0 ? t.inputs[memory].bytes() : 0;
  c.element_bytes = (t.inputs[qkv].bytes() + keys + result.bytes()) *
                    (direction == Direction::forward ? 1 : 2);
  return c;
}

std::optional<Split> Attention::split(SplitAxis axis, const Types&) const {
  if (axis != SplitAxis::heads) return std::nullopt;
  return Split{};  // heads know nothing of each other
}

bool Attention::has_gpu_kernel(const Types&) const {
  return is_plain() || (mask != AttentionMask::lengths && head_size <= 256 && memory_length == 0 &&
                         bias.buckets == 0);
}

}  // namespace trainx::operations
