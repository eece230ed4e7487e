#include "core/error.hpp"
#include "ops/attention.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tril.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>
#include "support/catch.hpp"

using namespace trainx;
using at::Tensor;

namespace {

double error(const Tensor& a, const Tensor& b) {
  if (!at::isfinite(a).all().item<bool>()) return std::numeric_limits<double>::infinity();
  const double largest = b.abs().max().item<double>();
  return (a.to(at::kDouble) - b).abs().max().item<double>() / (largest > 0 ? largest : 1);
}

}  // namespace

TEST_CASE("causal attention and its gradient against scores written out") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const std::int64_t T = GENERATE(1, 5, 33, 200), B = 2, H = 3, D = 8;
  INFO(c10::toString(type) << " length " << T);
  const double tolerance = type == at::kFloat ? 1e-5 : 3e-2;
  const float poison = std::numeric_limits<float>::quiet_NaN();
  const Tensor qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kDouble).to(type), d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kDouble).to(type);
  const Tensor out = at::full({B, T, H, D}, poison, type), lse = at::full({B, T, H}, poison, at::kFloat), d_qkv = at::full({B, T, 3, H, D}, poison, type);
  ops::causal_attention(out, lse, qkv);
  ops::causal_attention_backward(d_qkv, d_out, qkv, out, lse);

  const Tensor leaf = qkv.to(at::kDouble).requires_grad_(true), parts = leaf.permute({2, 0, 3, 1, 4});
  const Tensor scores = at::matmul(parts[0], parts[1].transpose(2, 3)) / std::sqrt(8.0) + at::tril(at::ones({T, T}, at::kDouble)).log();
  const Tensor want = at::matmul(at::softmax(scores, -1), parts[2]).transpose(1, 2);
  want.backward(d_out.to(at::kDouble));
  CHECK(error(out, want.detach()) <= tolerance);
  CHECK(error(lse.permute({0, 2, 1}), scores.detach().logsumexp(-1)) <= tolerance);
  for (int part = 0; part < 3; ++part)
    if (T > 1 || part == 2) CHECK(error(d_qkv.select(2, part), leaf.grad().select(2, part)) <= tolerance);
}

TEST_CASE("bidirectional attention sees a sample's own tokens, and padding neither gives nor takes") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const std::vector<int> lengths = GENERATE(std::vector<int>{1}, std::vector<int>{5, 5}, std::vector<int>{3, 40, 40, 1, 7}, std::vector<int>{200, 200, 33}, std::vector<int>{0, 6});
  const auto B = static_cast<std::int64_t>(lengths.size()), H = std::int64_t{3}, D = std::int64_t{8};
  const std::int64_t T = std::max<std::int64_t>(*std::max_element(lengths.begin(), lengths.end()), lengths.size() == 5 ? 44 : 1);   // also rows that nobody fills
  INFO(c10::toString(type) << " length " << T << " samples " << B);
  const double tolerance = type == at::kFloat ? 1e-5 : 3e-2;
  const float poison = std::numeric_limits<float>::quiet_NaN();
  const Tensor qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kDouble).to(type), d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kDouble).to(type);
  const Tensor out = at::full({B, T, H, D}, poison, type), lse = at::full({B, T, H}, poison, at::kFloat), d_qkv = at::full({B, T, 3, H, D}, poison, type);
  const Tensor counts = at::empty({B}, at::kInt);
  for (std::int64_t b = 0; b < B; ++b) counts[b].fill_(lengths[b]);
  ops::bidirectional_attention(out, lse, qkv, counts);
  ops::bidirectional_attention_backward(d_qkv, d_out, qkv, out, lse, counts);
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t n = lengths[b];
    INFO("sample " << b << " of length " << n);
    CHECK(out[b].narrow(0, n, T - n).eq(0).all().item<bool>());
    CHECK(d_qkv[b].narrow(0, n, T - n).eq(0).all().item<bool>());
    CHECK(at::isfinite(lse[b]).all().item<bool>());
    if (n == 0) continue;
    const Tensor leaf = qkv[b].narrow(0, 0, n).to(at::kDouble).requires_grad_(true), parts = leaf.permute({1, 2, 0, 3});
    const Tensor scores = at::matmul(parts[0], parts[1].transpose(1, 2)) / std::sqrt(8.0);
    const Tensor want = at::matmul(at::softmax(scores, -1), parts[2]).transpose(0, 1);
    want.backward(d_out[b].narrow(0, 0, n).to(at::kDouble));
    CHECK(error(out[b].narrow(0, 0, n), want.detach()) <= tolerance);
    CHECK(error(lse[b].narrow(0, 0, n).permute({1, 0}), scores.detach().logsumexp(-1)) <= tolerance);
    for (int part = 0; part < 3; ++part)
      if (n > 1 || part == 2) CHECK(error(d_qkv[b].narrow(0, 0, n).select(1, part), leaf.grad().select(1, part)) <= tolerance);
  }
  counts[0].fill_(static_cast<int>(T + 1));
  CHECK_THROWS_AS(ops::bidirectional_attention(out, lse, qkv, counts), InternalError);
}
