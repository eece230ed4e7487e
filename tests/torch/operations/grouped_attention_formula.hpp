// Attention of trainx's own loops as a sum of doubles, and a check of an operation against it.
#pragma once
#include "torch/operations/double_reference.hpp"
#include "operations/attention/grouped_attention.hpp"

namespace grouped_attention_formula {

using namespace trainx;
using namespace double_reference;
using operations::Attention;
using operations::AttentionMask;

struct Result {
  Doubles out, lse;
};

/// Of ALiBi: 2^(-8 (h + 1) / H) of head h of H, for H a power of two; of 3 heads the third is 2^-2.
inline double fall(std::int64_t head, std::int64_t heads) {
  if (heads == 3) return head == 0 ? 1.0 / 16 : head == 1 ? 1.0 / 256 : 1.0 / 4;
  return std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
}

/// Of T5: of a side's buckets one half is a distance each, in the other they grow with its
/// logarithm.
inline std::int64_t bucket(const operations::RelativeBias& b, std::int64_t distance) {
  const std::int64_t of_side = b.both_sides ? b.buckets / 2 : b.buckets, exact = of_side / 2,
                     first = b.both_sides && distance > 0 ? of_side : 0,
                     far = b.both_sides ? std::abs(distance) : std::max<std::int64_t>(0, -distance);
  if (far < exact) return first + far;
  const auto steps = static_cast<double>(exact);
  const double share = std::log(static_cast<double>(far) / steps) /
                       std::log(static_cast<double>(b.max_distance) / steps);
  return first + std::min(of_side - 1, exact + static_cast<std::int64_t>(
                                                   share * static_cast<double>(of_side - exact)));
}

/// What attention reads, `seen`: starts of documents or lengths; empty: causal.
struct Inputs {
  Doubles qkv, seen = {}, sinks = {}, memory = {}, biases = {};
};

/// The last `queries` rows of each sample of `keys` keys.
inline Result formula(const Attention& a, const Inputs& in, std::int64_t queries, std::int64_t keys,
                      const operations::Dropout& dropout = {}) {
  const std::int64_t H = a.query_heads, K = a.key_value_heads, D = a.head_size, V = a.values();
  const double scale = a.scale > 0 ? a.scale : 1 / std::sqrt(static_cast<double>(D));
  const bool remote = a.memory_length > 0;
  const std::int64_t rows = remote ? queries : keys;  // of qkv, of a sample
  const double* const others = remote ? in.memory.data() : in.qkv.data() + H * D;
  const std::int64_t width = remote ? K * (D + V) : a.columns();
  Result r;
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (std::int64_t t = 0; t < queries; ++t)
      for (std::int64_t h = 0; h < H; ++h) {
        const std::int64_t q = rows - queries + t, kv = h / (H / K);
        const auto sees = [&](std::int64_t k) {
          if (a.mask != AttentionMask::lengths && k > q) return false;
          if (a.window > 0 && std::abs(q - k) >= a.window) return false;
          if (a.mask == AttentionMask::lengths) {
            const double length = in.seen[static_cast<std::size_t>(b)];
            return static_cast<double>(k) < length && (remote || static_cast<double>(t) < length);
          }
          if (in.seen.empty()) return true;
          const double start = in.seen[static_cast<std::size_t>(b * queries + t)];
          return start >= 0 && static_cast<double>(k) >= start;
        };
        std::vector<float> factors(static_cast<std::size_t>(keys), 1);
        if (dropout)
          operations::attention_dropout_factors(dropout, b, h, t, 0, keys, factors.data());
        const double* const query = in.qkv.data() + (b * rows + q) * a.columns() + h * D;
        Doubles out(static_cast<std::size_t>(V), 0.0);
        double sum = in.sinks.empty() ? 0 : std::exp(in.sinks[static_cast<std::size_t>(h)]);
        for (std::int64_t k = 0; k < keys; ++k) {
          if (!sees(k)) continue;
          const double* const other = others + (b * keys + k) * width;
          double score = 0;
          for (std::int64_t c = 0; c < D; ++c) score += query[c] * other[kv * D + c];
          score *= scale;
          if (a.soft_cap > 0) score = a.soft_cap * std::tanh(score / a.soft_cap);
          if (a.alibi) score -= fall(h, H) * std::abs(static_cast<double>(q - k));
          if (a.bias.buckets > 0)
            score += in.biases[static_cast<std::size_t>(bucket(a.bias, k - q) * H + h)];
          const double weight = std::exp(score);
          sum += weight;
          for (std::int64_t c = 0; c < V; ++c)
            out[static_cast<std::size_t>(c)] += factors[static_cast<std::size_t>(k)] * weight *
                                                other[K * D + kv * V + c];
        }
        for (double v : out) r.out.push_back(sum > 0 ? v / sum : 0);
        r.lse.push_back(std::log(sum));
      }
  return r;
}

inline Tensor if_there(const at::Tensor& t) { return t.defined() ? Tensor(t) : Tensor(); }

/// An operand, and its gradient.
struct Operand {
  at::Tensor value, gradient;
};

inline constexpr std::int64_t positions[] = {5, 17};  // of the samples
inline operations::Dropout dropout_of(const Attention& a) {
  return {.probability = a.dropout,
          .key = {.seed = 11, .block = 2, .site = Attention::dropout_site},
          .positions = positions,
          .length = a.length};
}

/// Forward and backward of `a`; `differences`: against those of the formula.
inline void check(const Attention& a, at::ScalarType type, bool differences) {
  Operands operands(type);
  const std::int64_t N = a.batch * a.length, H = a.query_heads,
                     keys = a.memory_length > 0 ? a.memory_length : a.length;
  const bool documents = a.mask == AttentionMask::documents,
             padded = a.mask == AttentionMask::lengths;
  INFO(c10::toString(type) << " rows " << a.batch << " of " << a.length << " heads " << H << " of "
                           << a.key_value_heads << " head size " << a.head_size << " window "
                           << a.window << " cap " << a.soft_cap << " scale " << a.scale << " mask "
                           << static_cast<int>(a.mask) << " memory " << a.memory_length
                           << " buckets " << a.bias.buckets << " dropout " << a.dropout << " alibi "
                           << a.alibi << " sinks " << a.has_sinks << " seed " << operands.seed());
  const auto operand = [&](at::IntArrayRef dims) {
    return Operand{operands.normal(dims), operands.empty(dims)};
  };
  // gradients of parameters are added to what is there
  const auto parameter = [&](at::IntArrayRef dims) {
    return Operand{operands.normal(dims), at::full(dims, 3, at::kFloat)};
  };
  const Operand qkv = operand({N, a.columns()}),
                memory = a.memory_length > 0 ? operand({a.batch * keys, a.key_value_columns()})
                                             : Operand{},
                sinks = a.has_sinks ? parameter({H}) : Operand{},
                biases = a.bias.buckets > 0 ? parameter({a.bias.buckets, H}) : Operand{};
  at::Tensor seen;
  if (documents) seen = document_starts(a.batch, a.length);
  if (padded) {  // the last sample is whole
    seen = at::full({a.batch}, keys, at::kInt);
    seen.mutable_data_ptr<std::int32_t>()[0] = static_cast<std::int32_t>(keys / 2);
  }
  const operations::AttentionInputs in{qkv.value,
                                       if_there(seen),
                                       dropout_of(a),
                                       if_there(sinks.value),
                                       if_there(memory.value),
                                       if_there(biases.value)};
  const at::Tensor out = operands.empty({N, H * a.values()}), alone = operands.empty(out.sizes()),
                   lse = operands.empty({N, H}, at::kFloat), d_out = operands.normal(out.sizes());
  operations::grouped_attention(a, out, lse, in);
  Inputs values{doubles(qkv.value), doubles(seen), doubles(sinks.value), doubles(memory.value),
                doubles(biases.value)};
  const Doubles d = doubles(d_out);
  const auto wanted = [&] { return formula(a, values, a.length, keys, in.dropout); };
  const Result want = wanted();
  CHECK(error(out, want.out) <= operands.tolerance());
  Doubles got = doubles(lse), sums = want.lse;
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (!std::isfinite(sums[i])) got[i] = sums[i] = 0;  // padding sees nothing
  CHECK(error(got, sums) <= 2e-5);
  operations::grouped_attention(a, alone, {}, in);
  CHECK(at::equal(alone, out));

  operations::grouped_attention_backward(a,
                                         {qkv.gradient,
                                          if_there(memory.gradient),
                                          {if_there(sinks.gradient), true},
                                          {if_there(biases.gradient), true}},
                                         d_out, in, out, lse);
  const auto check_gradient = [&](const Operand& x, Doubles& of, double before) {
    if (!x.gradient.defined()) return;
    if (!differences) {
      CHECK(error(x.gradient, doubles(x.gradient)) == 0);  // all are numbers
      return;
    }
    Doubles added = slopes(of, [&] { return dot(wanted().out, d); });
    for (double& v : added) v += before;
    CHECK(error(x.gradient, added) <= 2 * operands.tolerance());
  };
  check_gradient(qkv, values.qkv, 0);
  check_gradient(memory, values.memory, 0);
  check_gradient(sinks, values.sinks, 3);
  check_gradient(biases, values.biases, 3);
  const auto is_zero = [](const at::Tensor& x) {
    CHECK((x.numel() == 0 || x.abs().max().item<float>() == 0));
  };
  const std::int64_t unpadded = keys / 2;  // of the first sample
  if (padded)
    is_zero(
        (memory.gradient.defined() ? memory : qkv).gradient.narrow(0, unpadded, keys - unpadded));
  for (std::int64_t row = 0; documents && row < N; ++row)
    if (seen.view({-1})[row].item<int>() < 0) is_zero(qkv.gradient[row]);
}

}  // namespace grouped_attention_formula
