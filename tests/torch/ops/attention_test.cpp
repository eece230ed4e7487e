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
#include <cmath>
#include <limits>
#include "support/catch.hpp"

using namespace trainx;
using at::Tensor;

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
  auto error = [](const Tensor& a, const Tensor& b) {
    if (!at::isfinite(a).all().item<bool>()) return std::numeric_limits<double>::infinity();
    return (a.to(at::kDouble) - b).abs().max().item<double>() / b.abs().max().item<double>();
  };
  CHECK(error(out, want.detach()) <= tolerance);
  CHECK(error(lse.permute({0, 2, 1}), scores.detach().logsumexp(-1)) <= tolerance);
  for (int part = 0; part < 3; ++part)
    if (T > 1 || part == 2) CHECK(error(d_qkv.select(2, part), leaf.grad().select(2, part)) <= tolerance);
}
