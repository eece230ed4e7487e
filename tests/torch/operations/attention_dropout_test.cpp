// Dropout of attention's probabilities: its gradient, its mean, and what it depends on.
#include "kernels/attention/attention_dropout.hpp"
#include "torch/operations/grouped_attention_formula.hpp"

namespace attention_dropout_test {

using namespace grouped_attention_formula;

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
        type, true);
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

TEST_CASE("a CPU drops the probabilities that kernels drop") {
  const double probability = GENERATE(0.1, 0.5, 0.999);
  operations::Dropout dropout{
      .probability = probability, .key = {0xfedcba9876543210, 7, 3}, .positions = positions};
  const kernels::AttentionDropout of_kernels =
      kernels::attention_dropout({{probability, dropout.key.seed, 7, 3}, positions});
  std::vector<float> factors(300);
  for (const std::int64_t sample : {0, 1})
    for (const std::int64_t head : {0, 5})
      for (const std::int64_t query : {0, 1000})
        for (const std::int64_t first : {0, 3, 8, 1021}) {
          operations::attention_dropout_factors(dropout, sample, head, query, first, 300,
                                                factors.data());
          const auto of_query = kernels::dropped_query(of_kernels, positions[sample], head, query);
          for (std::int64_t i = 0; i < 300; ++i) {
            const std::int64_t key = first + i;
            const float want = kernels::dropped_factor(
                of_kernels, kernels::dropped_words(of_kernels, of_query, key / 8), key);
            if (factors[static_cast<std::size_t>(i)] != want)
              FAIL("sample " << sample << " head " << head << " query " << query << " key " << key);
          }
        }
}

}  // namespace attention_dropout_test
