// Attention of grouped heads, windows, scales and caps against sums of doubles.
#include "torch/operations/double_reference.hpp"
#include "core/error.hpp"
#include "kernels/attention/grouped_attention.hpp"
#include "operations/attention/grouped_attention.hpp"

using namespace trainx;
using namespace double_reference;
using operations::Attention;
using operations::AttentionMask;

namespace {

struct Result {
  Doubles out, lse;
};

/// The last `queries` rows of each sample of `keys` rows; starts empty: causal.
Result formula(const Attention& a, const Doubles& qkv, std::int64_t queries, std::int64_t keys,
               const Doubles& starts) {
  const std::int64_t H = a.query_heads, K = a.key_value_heads, D = a.head_size;
  const double scale = a.scale > 0 ? a.scale : 1 / std::sqrt(static_cast<double>(D));
  const auto at = [&](std::int64_t row, std::int64_t head) {
    return qkv.data() + (row * (H + 2 * K) + head) * D;
  };
  Result r;
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (std::int64_t t = 0; t < queries; ++t)
      for (std::int64_t h = 0; h < H; ++h) {
        const std::int64_t q = keys - queries + t, kv = h / (H / K);
        std::int64_t from = a.window > 0 ? std::max<std::int64_t>(0, q - a.window + 1) : 0,
                     to = q + 1;
        if (!starts.empty()) {
          const auto start =
              static_cast<std::int64_t>(starts[static_cast<std::size_t>(b * queries + t)]);
          from = std::max(from, start);
          if (start < 0) to = from;
        }
        Doubles out(static_cast<std::size_t>(D), 0.0);
        double sum = 0;
        for (std::int64_t k = from; k < to; ++k) {
          double score = 0;
          for (std::int64_t c = 0; c < D; ++c)
            score += at(b * keys + q, h)[c] * at(b * keys + k, H + kv)[c];
          score *= scale;
          if (a.soft_cap > 0) score = a.soft_cap * std::tanh(score / a.soft_cap);
          const double weight = std::exp(score);
          sum += weight;
          for (std::int64_t c = 0; c < D; ++c)
            out[static_cast<std::size_t>(c)] += weight * at(b * keys + k, H + K + kv)[c];
        }
        for (double v : out) r.out.push_back(sum > 0 ? v / sum : 0);
        r.lse.push_back(std::log(sum));
      }
  return r;
}

struct Tensors {
  at::Tensor qkv, out, lse, d_out, d_qkv, starts;
  Tensor seen() const { return starts.defined() ? Tensor(starts) : Tensor(); }
};

/// Forward and backward of `a`; `exactly`: against differences of the formula.
void check(const Attention& a, at::ScalarType type, bool documents, bool differences) {
  Operands operands(type);
  const std::int64_t N = a.batch * a.length, H = a.query_heads, K = a.key_value_heads,
                     D = a.head_size;
  INFO(c10::toString(type) << " rows " << a.batch << " of " << a.length << " heads " << H << " of "
                           << K << " head size " << D << " window " << a.window << " cap "
                           << a.soft_cap << " scale " << a.scale << " documents " << documents
                           << " seed " << operands.seed());
  Tensors t{.qkv = operands.normal({N, (H + 2 * K) * D}),
            .out = operands.empty({N, H * D}),
            .lse = operands.empty({N, H}, at::kFloat),
            .d_out = operands.normal({N, H * D}),
            .d_qkv = operands.empty({N, (H + 2 * K) * D})};
  if (documents) t.starts = document_starts(a.batch, a.length);
  operations::grouped_attention(a, t.out, t.lse, t.qkv, t.seen());
  Doubles qkv = doubles(t.qkv);
  const Doubles starts = doubles(t.starts), d = doubles(t.d_out);
  const Result want = formula(a, qkv, a.length, a.length, starts);
  CHECK(error(t.out, want.out) <= operands.tolerance());
  Doubles got = doubles(t.lse), lse = want.lse;
  for (std::size_t i = 0; i < lse.size(); ++i)
    if (!std::isfinite(lse[i])) got[i] = lse[i] = 0;  // padding sees nothing
  CHECK(error(got, lse) <= 2e-5);
  const at::Tensor alone = operands.empty(t.out.sizes());
  operations::grouped_attention(a, alone, {}, t.qkv, t.seen());
  CHECK(at::equal(alone, t.out));

  operations::grouped_attention_backward(a, t.d_qkv, t.d_out, t.qkv, t.out, t.lse, t.seen());
  if (!differences) {
    CHECK(error(t.d_qkv, doubles(t.d_qkv)) == 0);  // all are numbers
    return;
  }
  CHECK(error(t.d_qkv, slopes(qkv, [&] {
                return dot(formula(a, qkv, a.length, a.length, starts).out, d);
              })) <= 2 * operands.tolerance());
  for (std::size_t row = 0; documents && row < starts.size(); ++row)
    if (starts[row] < 0)
      CHECK(t.d_qkv[static_cast<std::int64_t>(row)].abs().max().item<float>() == 0);
}

}  // namespace

TEST_CASE("grouped attention, forward and backward") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t D = GENERATE(2, 10, 20), group = GENERATE(1, 2, 3);
  const std::int64_t window = GENERATE(0, 1, 3, 7, 100);
  const bool documents = GENERATE(false, true), capped = GENERATE(false, true);
  const std::int64_t K = D == 2 ? 2 : 1;
  if (type != at::kFloat && (D != 10 || window == 1)) return;  // for time
  check({.query_heads = K * group,
         .key_value_heads = K,
         .head_size = D,
         .batch = 2,
         .length = 7,
         .mask = documents ? AttentionMask::documents : AttentionMask::causal,
         .scale = capped ? 0.7 : 0,
         .window = window,
         .soft_cap = capped ? 1.5 : 0},
        type, documents, true);
}

TEST_CASE("grouped attention of a row of one token") {
  const std::int64_t window = GENERATE(0, 1, 5);
  check({.query_heads = 3, .head_size = 10, .batch = 2, .window = window}, at::kFloat, false, true);
}

TEST_CASE("grouped attention of rows longer than those whose scores exist at once") {
  const std::int64_t window = GENERATE(0, 1, 64, 65);
  const bool documents = GENERATE(false, true);
  check({.query_heads = 2,
         .head_size = 2,
         .batch = documents ? 2 : 1,
         .length = GENERATE(65, 131),
         .mask = documents ? AttentionMask::documents : AttentionMask::causal,
         .window = window,
         .soft_cap = 5},
        at::kFloat, documents, false);
}

TEST_CASE("the gradient of grouped attention over rows of two tiles") {
  const std::int64_t window = GENERATE(0, 1, 5, 65);
  const bool documents = GENERATE(false, true);
  check({.query_heads = 2,
         .head_size = 2,
         .batch = 1,
         .length = 67,
         .mask = documents ? AttentionMask::documents : AttentionMask::causal,
         .window = window},
        at::kFloat, documents, true);
}

TEST_CASE("later rows attend to those before them") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const std::int64_t past = GENERATE(1, 5, 70), n = GENERATE(1, 3), group = GENERATE(1, 3),
                     window = GENERATE(0, 1, 4, 100);
  const Attention a{.query_heads = 2 * group,
                    .key_value_heads = 2,
                    .head_size = 10,
                    .length = n,
                    .window = window,
                    .soft_cap = 3};
  Operands operands(type);
  INFO(c10::toString(type) << " past " << past << " rows " << n << " group " << group << " window "
                           << window << " seed " << operands.seed());
  const at::Tensor qkv = operands.normal({past + n, (2 * group + 4) * 10}),
                   out = operands.empty({n, 2 * group * 10});
  operations::grouped_attention(a, out, {}, qkv, {});
  CHECK(error(out, formula(a, doubles(qkv), n, past + n, {}).out) <= operands.tolerance());
}

TEST_CASE("grouped attention under padding has no loop") {
  const Attention a{.query_heads = 2, .mask = AttentionMask::lengths};
  const at::Tensor qkv = at::full({1, 4}, 0, at::kFloat), out = at::full({1, 2}, 0, at::kFloat);
  CHECK_THROWS_AS(operations::grouped_attention(a, out, {}, qkv, {}), InternalError);
}

TEST_CASE("the reference of the GPU's kernels is grouped attention of a CPU") {
  const std::int64_t D = GENERATE(3, 16), K = GENERATE(1, 2), window = GENERATE(0, 1, 9);
  const bool documents = GENERATE(false, true), capped = GENERATE(false, true);
  const Attention a{.query_heads = 2 * K,
                    .key_value_heads = K,
                    .head_size = D,
                    .batch = 2,
                    .length = 21,
                    .mask = documents ? AttentionMask::documents : AttentionMask::causal,
                    .scale = capped ? 0.4 : 0,
                    .window = window,
                    .soft_cap = capped ? 2.0 : 0};
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  const std::int64_t N = a.batch * a.length, H = a.query_heads;
  const at::Tensor qkv = operands.normal({N, (H + 2 * K) * D}), d_out = operands.normal({N, H * D}),
                   out = operands.empty({N, H * D}), lse = operands.empty({N, H}, at::kFloat),
                   d_qkv = operands.empty({N, (H + 2 * K) * D}),
                   starts = documents ? document_starts(a.batch, a.length) : at::Tensor();
  const Tensor seen = documents ? Tensor(starts) : Tensor();
  operations::grouped_attention(a, out, lse, qkv, seen);
  operations::grouped_attention_backward(a, d_qkv, d_out, qkv, out, lse, seen);
  kernels::AttentionSize size{a.batch, a.length, H, D, true};
  size.key_value_heads = K, size.window = window, size.scale = a.scale, size.soft_cap = a.soft_cap;
  std::vector<float> want_out(static_cast<std::size_t>(N * H * D)),
      want_lse(static_cast<std::size_t>(N * H)),
      want_d(static_cast<std::size_t>(N * (H + 2 * K) * D));
  kernels::grouped_attention_reference(
      qkv.const_data_ptr<float>(), documents ? starts.const_data_ptr<std::int32_t>() : nullptr,
      d_out.const_data_ptr<float>(), want_out.data(), want_lse.data(), want_d.data(), size);
  const auto wide = [](const std::vector<float>& x) { return Doubles(x.begin(), x.end()); };
  CHECK(error(out, wide(want_out)) <= 2e-6);
  CHECK(error(d_qkv, wide(want_d)) <= 4e-6);
}
