// Attention to keys nearby on both sides, under padding, against sums of doubles.
#include "torch/operations/double_reference.hpp"
#include "operations/local_attention/local_attention.hpp"

using namespace trainx;
using namespace double_reference;
using operations::LocalAttention;

namespace {

/// out[B * T, H * D] of qkv[B * T, 3 * H * D].
Doubles attend(const LocalAttention& a, const Doubles& qkv,
               const std::vector<std::int64_t>& lengths) {
  const std::int64_t width = a.heads * a.head_size;
  Doubles out(static_cast<std::size_t>(a.batch * a.length * width));
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t kind, std::int64_t h,
                      std::int64_t d) {
    return qkv[static_cast<std::size_t>(
        (((b * a.length + t) * 3 + kind) * a.heads + h) * a.head_size + d)];
  };
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t q = 0; q < lengths[static_cast<std::size_t>(b)]; ++q) {
        double sum = 0;
        Doubles row(static_cast<std::size_t>(a.head_size));
        for (std::int64_t k = 0; k < lengths[static_cast<std::size_t>(b)]; ++k) {
          if (std::abs(q - k) >= a.window) continue;
          double score = 0;
          for (std::int64_t d = 0; d < a.head_size; ++d)
            score += at(b, q, 0, h, d) * at(b, k, 1, h, d);
          const double p = std::exp(score / std::sqrt(static_cast<double>(a.head_size)));
          sum += p;
          for (std::int64_t d = 0; d < a.head_size; ++d)
            row[static_cast<std::size_t>(d)] += p * at(b, k, 2, h, d);
        }
        for (std::int64_t d = 0; d < a.head_size; ++d)
          out[static_cast<std::size_t>(((b * a.length + q) * a.heads + h) * a.head_size + d)] =
              row[static_cast<std::size_t>(d)] / sum;
      }
  return out;
}

}  // namespace

TEST_CASE("a query sees keys of its sample at a distance below the window, on both sides") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t T = GENERATE(1, 9, 70, 131), window = GENERATE(1, 3, 65);
  const LocalAttention a{.heads = 2, .head_size = 5, .batch = 3, .length = T, .window = window};
  Operands operands(type);
  INFO("length " << T << " window " << window << " seed " << operands.seed());
  const at::Tensor qkv = operands.normal({3 * T, 3 * 2 * 5}, 0.7),
                   out = operands.empty({3 * T, 2, 5}), lse = operands.empty({3, T, 2}, at::kFloat),
                   lengths = at::full({3}, T, at::kInt);
  const std::int64_t some = (T + 1) / 2;
  lengths[1] = some, lengths[2] = 0;
  operations::local_attention(a, out, lse, qkv, lengths);
  CHECK(error(out, attend(a, doubles(qkv), {T, some, 0})) <= operands.tolerance());
  CHECK(lse.isfinite().all().item<bool>());
}

TEST_CASE("gradients of local attention are those of its formula") {
  const std::int64_t T = GENERATE(1, 7, 66), window = GENERATE(1, 2, 5, 66);
  const LocalAttention a{.heads = 2, .head_size = 3, .batch = 2, .length = T, .window = window};
  Operands operands(at::kFloat);
  INFO("length " << T << " window " << window << " seed " << operands.seed());
  const at::Tensor qkv = operands.normal({2 * T, 3 * 2 * 3}, 0.7),
                   d_out = operands.normal({2 * T, 2 * 3}), out = operands.empty({2 * T, 2, 3}),
                   lse = operands.empty({2, T, 2}), d_qkv = operands.empty({2 * T, 3 * 2 * 3}),
                   lengths = at::full({2}, T, at::kInt);
  const std::int64_t some = (T + 1) / 2;
  lengths[1] = some;
  operations::local_attention(a, out, lse, qkv, lengths);
  operations::local_attention_backward(a, d_qkv, d_out, qkv, out, lse, lengths);
  Doubles in = doubles(qkv);
  const Doubles weights = doubles(d_out);
  if (T == 66) {  // differences of so many are slow: a few elements of each part
    const Doubles got = doubles(d_qkv);
    for (const std::size_t i : {std::size_t{0}, std::size_t{7}, std::size_t{13}, in.size() / 4,
                                in.size() / 2 + 5, in.size() - 1}) {
      const double v = in[i], step = 1e-5;
      in[i] = v + step;
      const double above = dot(attend(a, in, {T, some}), weights);
      in[i] = v - step;
      const double below = dot(attend(a, in, {T, some}), weights);
      in[i] = v;
      CHECK(std::abs(got[i] - (above - below) / (2 * step)) <= 1e-4);
    }
    return;
  }
  const Doubles want = slopes(in, [&] { return dot(attend(a, in, {T, some}), weights); });
  CHECK(error(d_qkv, want) <= 2e-5);
}
