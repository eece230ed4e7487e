#include "operations/attention/attention_spec.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include <algorithm>

namespace trainx::operations {
namespace {

/// Of one sample and head: of a query and a key that it sees. Documents: the most there can be, one
/// to a row.
double pairs_of(const Attention& a) {
  const auto T = static_cast<double>(a.length);
  const bool both_sides = a.mask == AttentionMask::lengths;
  const double keys = a.memory_length > 0 ? static_cast<double>(a.memory_length) : T,
               all = both_sides ? T * keys : T * (T + 1) / 2,
               outside = a.window > 0 ? std::max(0.0, T - static_cast<double>(a.window)) : 0;
  return all - outside * (outside + 1) / (both_sides ? 1 : 2);
}

/// Multiply-adds of `elements` for each pair.
double product_flops(const Attention& a, std::int64_t elements) {
  return 2.0 * static_cast<double>(a.batch * a.query_heads * elements) * pairs_of(a);
}

}  // namespace

bool Attention::is_trainx_own() const {
  const bool other = query_heads != key_value_heads || scale > 0 || window > 0;
  return kind != AttentionKind::math &&
         (soft_cap > 0 || dropout > 0 || alibi || has_sinks || bias.buckets > 0 ||
          memory_length > 0 || (mask == AttentionMask::lengths && other));
}

std::vector<OutputSpec> Attention::outputs(const Types& t) const {
  std::vector<OperandId> from{input(qkv)};
  if (memory_length > 0) from.push_back(input(memory));
  if (bias.buckets > 0) from.push_back(parameter(bias_table));
  if (mask != AttentionMask::causal) from.push_back(input(seen));
  if (dropout > 0) from.push_back(input(positions));
  if (has_sinks) from.push_back(parameter(sinks));
  const std::int64_t N = batch * length;
  return {{"attention_out", {t.compute, {N, query_heads, values()}}, from},
          {"lse", {DType::f32, {batch, length, query_heads}}, from}};
}

BackwardSpec Attention::backward(const Types&) const {
  BackwardSpec b{.reads = {input(qkv), output(out), output(lse)}, .inputs = {{.input = qkv}}};
  if (mask != AttentionMask::causal) b.reads.push_back(input(seen));
  if (dropout > 0) b.reads.push_back(input(positions));
  if (has_sinks) {
    b.reads.push_back(parameter(sinks));
    b.parameters.push_back(sinks);
  }
  if (memory_length > 0) {
    b.reads.push_back(input(memory));
    b.inputs.push_back({.input = memory});
  }
  if (bias.buckets > 0) {
    b.reads.push_back(parameter(bias_table));
    b.parameters.push_back(bias_table);
  }
  if (sums_bias) b.parameters.push_back(qkv_bias);
  return b;
}

Cost Attention::cost(Direction direction, const Types& t) const {
  Cost c;
  // scores and their product with values; backward the scores again, and four gradients
  const std::int64_t elements = direction == Direction::forward ? head_size + values()
                                                                : 3 * head_size + 2 * values();
  const bool hopper = t.gpu && is_by_hopper(*this, t.compute);
  c.attention = AttentionCost{product_flops(*this, elements),
                              batch * length * query_heads,
                              head_size,
                              kind != AttentionKind::math,
                              t.gpu && is_trainx_own() && !hopper,
                              pairs_of(*this) / static_cast<double>(length),
                              mask != AttentionMask::lengths && memory_length == 0,
                              hopper,
                              dropout > 0,
                              t.gpu && head_size > 128 && is_by_cudnn(*this, t.compute)};
  if (direction == Direction::forward) c.attention_output = c.element_output = out;
  if (direction == Direction::backward && sums_bias && t.trains(qkv_bias))
    c.kernels.push_back({KernelFamily::column_sum});
  const TensorType result{t.compute, {batch * length, query_heads, values()}};
  // backward: both and their gradients
  const double keys = memory_length > 0 ? t.inputs[memory].bytes() : 0;
  c.element_bytes = (t.inputs[qkv].bytes() + keys + result.bytes()) *
                    (direction == Direction::forward ? 1 : 2);
  return c;
}

std::optional<Split> Attention::split(SplitAxis axis, const Types& t) const {
  if (axis != SplitAxis::heads) return std::nullopt;
  Split s;
  s.parameters.resize(t.parameters.size());
  const auto cut = [&](int parameter, int dimension) {
    if (t.has_parameter(parameter)) s.parameters[static_cast<std::size_t>(parameter)] = dimension;
  };
  cut(sinks, 0);
  cut(bias_table, 1);
  cut(qkv_bias, 0);
  return s;
}

bool Attention::has_gpu_kernel(const Types&) const {
  if (is_plain()) return true;
  if (head_size > 256 || values() > head_size) return false;
  if (values() < head_size && memory_length > 0) return false;
  const bool biased = alibi || has_sinks || bias.buckets > 0;
  if (memory_length > 0) return !biased && window == 0 && soft_cap == 0;
  // sums by bucket lie in shared memory
  if (biased) return soft_cap == 0 && bias.buckets <= 32 && (bias.buckets == 0 || head_size <= 128);
  return mask != AttentionMask::lengths || soft_cap == 0;
}

}  // namespace trainx::operations
