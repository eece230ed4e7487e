// Attention of grouped heads, windows, scales, caps, biases and of another text against sums of
// doubles.
#include "torch/operations/grouped_attention_formula.hpp"
#include "core/error.hpp"
#include "kernels/attention/grouped_attention.hpp"

namespace grouped_attention_test {

using namespace grouped_attention_formula;

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
        type, true);
}

TEST_CASE("grouped attention of a row of one token") {
  const std::int64_t window = GENERATE(0, 1, 5);
  check({.query_heads = 3, .head_size = 10, .batch = 2, .window = window}, at::kFloat, true);
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
        at::kFloat, false);
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
        at::kFloat, true);
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
  CHECK(error(out, formula(a, {doubles(qkv)}, n, past + n).out) <= operands.tolerance());
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
        type, true);
}

TEST_CASE("a window of rows that are seen on both sides") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  check({.query_heads = 2,
         .key_value_heads = GENERATE(1, 2),
         .head_size = 5,
         .batch = 2,
         .length = GENERATE(1, 7),
         .mask = AttentionMask::lengths,
         .window = GENERATE(1, 2, 5, 65),
         .dropout = GENERATE(0.0, 0.3)},
        type, true);
}

TEST_CASE("a window on both sides of rows of several tiles") {
  const std::int64_t length = GENERATE(66, 131), window = GENERATE(1, 3, 64, 65, 66);
  check({.query_heads = 1,
         .head_size = 2,
         .batch = length == 66 ? 1 : 2,
         .length = length,
         .mask = AttentionMask::lengths,
         .window = window},
        at::kFloat, length == 66);
}

TEST_CASE("scores with a learned bias by distance") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const auto mask =
      GENERATE(AttentionMask::causal, AttentionMask::lengths, AttentionMask::documents);
  check({.query_heads = 4,
         .key_value_heads = GENERATE(2, 4),
         .head_size = 3,
         .batch = 2,
         .length = GENERATE(1, 11),
         .mask = mask,
         .scale = 1,
         .window = GENERATE(0, 4),
         .soft_cap = GENERATE(0.0, 2.0),
         .dropout = mask == AttentionMask::lengths ? 0.3 : 0,
         .bias = {.buckets = 8, .max_distance = 10, .both_sides = GENERATE(false, true)}},
        type, true);
}

TEST_CASE("keys and values of another text") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  check({.query_heads = 2,
         .key_value_heads = GENERATE(1, 2),
         .head_size = 2,
         .batch = 2,
         .length = GENERATE(1, 5, 67),
         .value_size = GENERATE(0, 3),
         .mask = AttentionMask::lengths,
         .dropout = GENERATE(0.0, 0.3),
         .memory_length = GENERATE(1, 8)},
        type, true);
}

TEST_CASE("gradients that nobody wants are not computed") {
  const Attention a{.query_heads = 2,
                    .head_size = 2,
                    .length = 3,
                    .mask = AttentionMask::lengths,
                    .memory_length = 4};
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  const at::Tensor q = operands.normal({3, 4}), memory = operands.normal({4, 4}),
                   d_out = operands.normal({3, 4}), lengths = at::full({1}, 4, at::kInt),
                   out = operands.empty({3, 4}), lse = operands.empty({3, 2});
  const operations::AttentionInputs in{q, lengths, {}, {}, memory};
  operations::grouped_attention(a, out, lse, in);
  const auto backward = [&](bool of_queries, bool of_memory) {
    const Operand dq{q, operands.empty({3, 4})}, dm{memory, operands.empty({4, 4})};
    operations::grouped_attention_backward(
        a,
        {of_queries ? Tensor(dq.gradient) : Tensor(), of_memory ? Tensor(dm.gradient) : Tensor()},
        d_out, in, out, lse);
    return std::pair(dq.gradient, dm.gradient);
  };
  const auto [d_q, d_memory] = backward(true, true);
  CHECK(at::equal(backward(true, false).first, d_q));
  CHECK(at::equal(backward(false, true).second, d_memory));
}

TEST_CASE("a memory has no order, documents or windows") {
  const bool ordered = GENERATE(false, true);
  const Attention a{.mask = ordered ? AttentionMask::causal : AttentionMask::lengths,
                    .window = ordered ? 0 : 2,
                    .memory_length = 1};
  const at::Tensor q = at::full({1, 1}, 0, at::kFloat), memory = at::full({1, 2}, 0, at::kFloat),
                   out = at::full({1, 1}, 0, at::kFloat), lengths = at::full({1}, 1, at::kInt);
  CHECK_THROWS_AS(operations::grouped_attention(a, out, {}, {q, lengths, {}, {}, memory}),
                  InternalError);
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
        type, true);
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
        type, true);
}

TEST_CASE("a length beyond the row is refused") {
  const Attention a{.query_heads = 2, .mask = AttentionMask::lengths};
  const at::Tensor qkv = at::full({1, 4}, 0, at::kFloat), out = at::full({1, 2}, 0, at::kFloat),
                   lengths = at::full({1}, 2, at::kInt);
  CHECK_THROWS_AS(operations::grouped_attention(a, out, {}, {qkv, lengths}), InternalError);
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

}  // namespace grouped_attention_test
