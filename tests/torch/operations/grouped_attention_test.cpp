// Attention of grouped heads, windows, scales, caps and dropout against sums of doubles.
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

/// Of ALiBi: 2^(-8 (h + 1) / H) of head h of H, for H a power of two; of 3 heads the third is 2^-2.
double fall(std::int64_t head, std::int64_t heads) {
  if (heads == 3) return head == 0 ? 1.0 / 16 : head == 1 ? 1.0 / 256 : 1.0 / 4;
  return std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
}

/// The last `queries` rows of each sample of `keys` rows; `seen`: starts of documents or lengths;
/// empty: causal.
Result formula(const Attention& a, const Doubles& qkv, std::int64_t queries, std::int64_t keys,
               const Doubles& seen, const operations::Dropout& dropout = {},
               const Doubles& sinks = {}) {
  const std::int64_t H = a.query_heads, K = a.key_value_heads, D = a.head_size;
  const double scale = a.scale > 0 ? a.scale : 1 / std::sqrt(static_cast<double>(D));
  const auto at = [&](std::int64_t row, std::int64_t head) {
    return qkv.data() + row * a.columns() + head * D;
  };
  const auto value_at = [&](std::int64_t row, std::int64_t kv) {
    return at(row, H + K) + kv * a.values();
  };
  Result r;
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (std::int64_t t = 0; t < queries; ++t)
      for (std::int64_t h = 0; h < H; ++h) {
        const std::int64_t q = keys - queries + t, kv = h / (H / K);
        std::int64_t from = a.window > 0 ? std::max<std::int64_t>(0, q - a.window + 1) : 0,
                     to = q + 1;
        if (a.mask == AttentionMask::lengths) {
          const auto length = static_cast<std::int64_t>(seen[static_cast<std::size_t>(b)]);
          from = 0, to = t < length ? length : 0;
        } else if (!seen.empty()) {
          const auto start =
              static_cast<std::int64_t>(seen[static_cast<std::size_t>(b * queries + t)]);
          from = std::max(from, start);
          if (start < 0) to = from;
        }
        std::vector<float> factors(static_cast<std::size_t>(keys), 1);
        if (dropout)
          operations::attention_dropout_factors(dropout, b, h, t, 0, keys, factors.data());
        Doubles out(static_cast<std::size_t>(a.values()), 0.0);
        double sum = sinks.empty() ? 0 : std::exp(sinks[static_cast<std::size_t>(h)]);
        for (std::int64_t k = from; k < to; ++k) {
          double score = 0;
          for (std::int64_t c = 0; c < D; ++c)
            score += at(b * keys + q, h)[c] * at(b * keys + k, H + kv)[c];
          score *= scale;
          if (a.soft_cap > 0) score = a.soft_cap * std::tanh(score / a.soft_cap);
          if (a.alibi) score -= fall(h, H) * std::abs(static_cast<double>(q - k));
          const double weight = std::exp(score);
          sum += weight;
          for (std::int64_t c = 0; c < a.values(); ++c)
            out[static_cast<std::size_t>(c)] += factors[static_cast<std::size_t>(k)] * weight *
                                                value_at(b * keys + k, kv)[c];
        }
        for (double v : out) r.out.push_back(sum > 0 ? v / sum : 0);
        r.lse.push_back(std::log(sum));
      }
  return r;
}

struct Tensors {
  at::Tensor qkv, out, lse, d_out, d_qkv, starts, sinks, d_sinks;
  operations::Dropout dropout = {};
  static Tensor if_there(const at::Tensor& t) { return t.defined() ? Tensor(t) : Tensor(); }
  operations::AttentionInputs inputs() const {
    return {qkv, if_there(starts), dropout, if_there(sinks)};
  }
};

constexpr std::int64_t positions[] = {5, 17};  // of the samples
operations::Dropout dropout_of(const Attention& a) {
  return {.probability = a.dropout,
          .key = {.seed = 11, .block = 2, .site = Attention::dropout_site},
          .positions = positions,
          .length = a.length};
}

/// Forward and backward of `a`; `exactly`: against differences of the formula.
void check(const Attention& a, at::ScalarType type, bool documents, bool differences) {
  Operands operands(type);
  const std::int64_t N = a.batch * a.length, H = a.query_heads, K = a.key_value_heads,
                     D = a.head_size;
  INFO(c10::toString(type) << " rows " << a.batch << " of " << a.length << " heads " << H << " of "
                           << K << " head size " << D << " window " << a.window << " cap "
                           << a.soft_cap << " scale " << a.scale << " documents " << documents
                           << " dropout " << a.dropout << " alibi " << a.alibi << " sinks "
                           << a.has_sinks << " seed " << operands.seed());
  Tensors t{.qkv = operands.normal({N, a.columns()}),
            .out = operands.empty({N, H * a.values()}),
            .lse = operands.empty({N, H}, at::kFloat),
            .d_out = operands.normal({N, H * a.values()}),
            .d_qkv = operands.empty({N, a.columns()})};
  if (documents) t.starts = document_starts(a.batch, a.length);
  if (a.mask == AttentionMask::lengths) {
    t.starts = at::full({a.batch}, a.length, at::kInt);
    t.starts.mutable_data_ptr<std::int32_t>()[0] = static_cast<std::int32_t>(a.length / 2);
  }
  t.dropout = dropout_of(a);
  if (a.has_sinks) t.sinks = operands.normal({H}), t.d_sinks = at::full({H}, 3, at::kFloat);
  operations::grouped_attention(a, t.out, t.lse, t.inputs());
  Doubles qkv = doubles(t.qkv);
  const Doubles starts = doubles(t.starts), d = doubles(t.d_out);
  Doubles sinks = doubles(t.sinks);
  const auto wanted = [&] { return formula(a, qkv, a.length, a.length, starts, t.dropout, sinks); };
  const Result want = wanted();
  CHECK(error(t.out, want.out) <= operands.tolerance());
  Doubles got = doubles(t.lse), lse = want.lse;
  for (std::size_t i = 0; i < lse.size(); ++i)
    if (!std::isfinite(lse[i])) got[i] = lse[i] = 0;  // padding sees nothing
  CHECK(error(got, lse) <= 2e-5);
  const at::Tensor alone = operands.empty(t.out.sizes());
  operations::grouped_attention(a, alone, {}, t.inputs());
  CHECK(at::equal(alone, t.out));

  operations::grouped_attention_backward(a, {t.d_qkv, Tensors::if_there(t.d_sinks), true}, t.d_out,
                                         t.inputs(), t.out, t.lse);
  if (!differences) {
    CHECK(error(t.d_qkv, doubles(t.d_qkv)) == 0);  // all are numbers
    return;
  }
  CHECK(error(t.d_qkv, slopes(qkv, [&] { return dot(wanted().out, d); })) <=
        2 * operands.tolerance());
  if (a.has_sinks) {
    Doubles added = slopes(sinks, [&] { return dot(wanted().out, d); });
    for (double& v : added) v += 3;
    CHECK(error(t.d_sinks, added) <= 2 * operands.tolerance());
  }
  if (a.mask == AttentionMask::lengths)
    CHECK(t.d_qkv.narrow(0, a.length / 2, (a.length + 1) / 2).abs().max().item<float>() == 0);
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
  operations::grouped_attention(a, out, {}, {qkv, {}});
  CHECK(error(out, formula(a, doubles(qkv), n, past + n, {}).out) <= operands.tolerance());
}

TEST_CASE("attention that sees the first tokens of a sample, with and without dropout") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  check({.query_heads = 2,
         .key_value_heads = GENERATE(1, 2),
         .head_size = 6,
         .batch = 2,
         .length = GENERATE(2, 7),
         .mask = AttentionMask::lengths,
         .dropout = GENERATE(0.0, 0.3)},
        type, false, true);
}

TEST_CASE("scores that fall with distance, and sinks") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const bool documents = GENERATE(false, true);
  const std::int64_t heads = GENERATE(1, 2, 3, 4);
  check({.query_heads = heads,
         .key_value_heads = heads % 2 == 0 ? heads / 2 : heads,
         .head_size = 6,
         .batch = 2,
         .length = 9,
         .mask = documents ? AttentionMask::documents : AttentionMask::causal,
         .window = GENERATE(0, 4),
         .dropout = heads == 2 ? 0.2 : 0,
         .alibi = GENERATE(false, true),
         .has_sinks = GENERATE(false, true)},
        type, documents, true);
}

TEST_CASE("values of another size than keys") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const bool documents = GENERATE(false, true);
  check({.query_heads = 4,
         .key_value_heads = GENERATE(1, 4),
         .head_size = 6,
         .batch = 2,
         .length = 9,
         .value_size = GENERATE(1, 5, 6, 11),
         .mask = documents ? AttentionMask::documents : AttentionMask::causal,
         .dropout = GENERATE(0.0, 0.3)},
        type, documents, true);
}

TEST_CASE("a length beyond the row is refused") {
  const Attention a{.query_heads = 2, .mask = AttentionMask::lengths};
  const at::Tensor qkv = at::full({1, 4}, 0, at::kFloat), out = at::full({1, 2}, 0, at::kFloat),
                   lengths = at::full({1}, 2, at::kInt);
  CHECK_THROWS_AS(operations::grouped_attention(a, out, {}, {qkv, lengths}), InternalError);
}

TEST_CASE("the gradient under dropout is that of the probabilities that forward dropped") {
  const auto type = GENERATE(at::kFloat, at::kHalf);
  const bool documents = GENERATE(false, true), capped = GENERATE(false, true);
  check({.query_heads = 4,
         .key_value_heads = GENERATE(1, 4),
         .head_size = 6,
         .batch = 2,
         .length = 9,
         .mask = documents ? AttentionMask::documents : AttentionMask::causal,
         .window = GENERATE(0, 3),
         .soft_cap = capped ? 2.0 : 0,
         .dropout = GENERATE(0.1, 0.9)},
        type, documents, true);
}

TEST_CASE("dropout of attention depends neither on the batch's cut nor on how long rows are") {
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  Attention a{.query_heads = 2,
              .key_value_heads = 1,
              .head_size = 4,
              .batch = 2,
              .length = 70,
              .dropout = 0.5};
  const at::Tensor qkv = operands.normal({140, 16}), both = operands.empty({140, 8});
  operations::grouped_attention(a, both, {}, {qkv, {}, dropout_of(a)});
  // the second sample alone, without its last tokens
  a.batch = 1, a.length = 66;
  operations::Dropout dropout = dropout_of(a);
  dropout.positions = positions + 1;
  const at::Tensor alone = operands.empty({66, 8});
  const at::Tensor second = qkv.narrow(0, 70, 66);
  operations::grouped_attention(a, alone, {}, {second, {}, dropout});
  CHECK(error(alone, doubles(both.narrow(0, 70, 66))) <= 1e-6);
}

TEST_CASE("over many seeds dropout of attention leaves its mean, and drops its share") {
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  Attention a{.query_heads = 2, .key_value_heads = 2, .head_size = 4, .batch = 2, .length = 5};
  const at::Tensor qkv = operands.normal({10, 24}), plain = operands.empty({10, 8}),
                   out = operands.empty({10, 8});
  operations::grouped_attention(a, plain, {}, {qkv, {}});
  a.dropout = 0.25;
  constexpr int seeds = 1000;
  Doubles sums(80, 0.0), squares(80, 0.0);
  operations::Dropout dropout = dropout_of(a);
  for (int seed = 0; seed < seeds; ++seed) {
    dropout.key.seed = operands.seed() + static_cast<std::uint64_t>(seed);
    operations::grouped_attention(a, out, {}, {qkv, {}, dropout});
    const Doubles one = doubles(out);
    for (std::size_t i = 0; i < one.size(); ++i) sums[i] += one[i], squares[i] += one[i] * one[i];
  }
  const Doubles want = doubles(plain);
  double off = 0;  // squares of differences in standard errors: of a chi-squared distribution
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double mean = sums[i] / seeds, variance = squares[i] / seeds - mean * mean,
                 z = (mean - want[i]) / std::sqrt(variance / seeds);
    if (!(std::abs(z) <= 4.5)) FAIL("element " << i << " is " << z << " standard errors off");
    off += z * z;
  }
  CHECK(std::abs(off / 80 - 1) <= 3 * 3 * std::sqrt(2.0 / 80));  // elements are not independent

  std::vector<float> factors(100000);
  double kept = 0;
  for (std::int64_t query = 0; query < 10; ++query) {
    operations::attention_dropout_factors(dropout, 0, 1, query, 3, 100000, factors.data());
    for (const float f : factors) {
      if (f != 0 && f != 1 / 0.75f) FAIL("a factor of " << f);
      kept += f != 0;
    }
  }
  CHECK(std::abs(kept - 750000) <= 3 * std::sqrt(1e6 * 0.25 * 0.75));
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
  const operations::AttentionInputs in{qkv, documents ? Tensor(starts) : Tensor()};
  operations::grouped_attention(a, out, lse, in);
  operations::grouped_attention_backward(a, {d_qkv}, d_out, in, out, lse);
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
