#include "core/error.hpp"
#include "operations/attention/attention.hpp"
#include "architectures/library_bytes.hpp"
#include "tensor/allocator_meter.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/Parallel.h>
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

namespace attention_test {

using namespace trainx;

namespace {

double error(const at::Tensor& a, const at::Tensor& b) {
  if (!at::isfinite(a).all().item<bool>()) return std::numeric_limits<double>::infinity();
  const double largest = b.abs().max().item<double>();
  return (a.to(at::kDouble) - b).abs().max().item<double>() / (largest > 0 ? largest : 1);
}

}  // namespace

TEST_CASE("causal attention and its gradient against scores written out") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const AttentionKind kind =
      GENERATE(AttentionKind::automatic, AttentionKind::flash, AttentionKind::math);
  const std::int64_t T = GENERATE(1, 5, 33, 200), B = 2, H = 3, D = 8;
  INFO(c10::toString(type) << " length " << T << " by " << name_of(kind));
  const double tolerance = type == at::kFloat ? 1e-5 : 3e-2;
  const float poison = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor
      qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kDouble).to(type),
      d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kDouble).to(type);
  const at::Tensor out = at::full({B, T, H, D}, poison, type),
                   lse = at::full({B, T, H}, poison, at::kFloat),
                   d_qkv = at::full({B, T, 3, H, D}, poison, type);
  operations::causal_attention(out, lse, qkv, kind);
  operations::causal_attention_backward(d_qkv, d_out, qkv, out, lse, kind);

  const at::Tensor leaf = qkv.to(at::kDouble).requires_grad_(true),
                   parts = leaf.permute({2, 0, 3, 1, 4});
  const at::Tensor scores = at::matmul(parts[0], parts[1].transpose(2, 3)) / std::sqrt(8.0) +
                            at::tril(at::ones({T, T}, at::kDouble)).log();
  const at::Tensor want = at::matmul(at::softmax(scores, -1), parts[2]).transpose(1, 2);
  want.backward(d_out.to(at::kDouble));
  CHECK(error(out, want.detach()) <= tolerance);
  CHECK(error(lse.permute({0, 2, 1}), scores.detach().logsumexp(-1)) <= tolerance);
  for (int part = 0; part < 3; ++part)
    if (T > 1 || part == 2)
      CHECK(error(d_qkv.select(2, part), leaf.grad().select(2, part)) <= tolerance);
}

TEST_CASE("attention over a cache is that of the last rows of the whole") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t T = GENERATE(1, 2, 33, 200, 700), H = 3, D = 8;
  const double tolerance = type == at::kFloat ? 1e-5 : 3e-2;
  const at::Tensor whole = at::randn({T, 3, H, D}, at::detail::createCPUGenerator(3), at::kDouble)
                               .to(type),
                   parts = whole.to(at::kDouble).permute({1, 2, 0, 3});
  const at::Tensor scores = at::matmul(parts[0], parts[1].transpose(1, 2)) / std::sqrt(8.0) +
                            at::tril(at::ones({T, T}, at::kDouble)).log();
  const at::Tensor want = at::matmul(at::softmax(scores, -1), parts[2]).transpose(0, 1);
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{2}, T / 2, T}) {
    if (rows < 1 || rows > T) continue;
    INFO(c10::toString(type) << ": " << rows << " of " << T);
    const at::Tensor out = at::full({rows, H, D}, std::numeric_limits<float>::quiet_NaN(), type);
    operations::cached_attention(out, whole);
    CHECK(error(out, want.narrow(0, T - rows, rows)) <= tolerance);
  }
  const at::Tensor too_many = at::empty({T + 1, H, D}, type);
  CHECK_THROWS_AS(operations::cached_attention(too_many, whole), InternalError);
}

TEST_CASE(
    "bidirectional attention sees a sample's own tokens, and padding neither gives nor takes") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const AttentionKind kind = GENERATE(AttentionKind::automatic, AttentionKind::math);
  const std::vector<int> lengths = GENERATE(std::vector<int>{1}, std::vector<int>{5, 5},
                                            std::vector<int>{3, 40, 40, 1, 7},
                                            std::vector<int>{200, 200, 33}, std::vector<int>{0, 6});
  const auto B = static_cast<std::int64_t>(lengths.size()), H = std::int64_t{3},
             D = std::int64_t{8};
  // also rows that nobody fills
  const std::int64_t T = std::max<std::int64_t>(*std::max_element(lengths.begin(), lengths.end()),
                                                lengths.size() == 5 ? 44 : 1);
  INFO(c10::toString(type) << " length " << T << " samples " << B << " by " << name_of(kind));
  const double tolerance = type == at::kFloat ? 1e-5 : 3e-2;
  const float poison = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor
      qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kDouble).to(type),
      d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kDouble).to(type);
  const at::Tensor out = at::full({B, T, H, D}, poison, type),
                   lse = at::full({B, T, H}, poison, at::kFloat),
                   d_qkv = at::full({B, T, 3, H, D}, poison, type);
  const at::Tensor counts = at::empty({B}, at::kInt);
  for (std::int64_t b = 0; b < B; ++b) counts[b].fill_(lengths[b]);
  operations::bidirectional_attention(out, lse, qkv, counts, kind);
  operations::bidirectional_attention_backward(d_qkv, d_out, qkv, out, lse, counts, kind);
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t n = lengths[b];
    INFO("sample " << b << " of length " << n);
    CHECK(out[b].narrow(0, n, T - n).eq(0).all().item<bool>());
    CHECK(d_qkv[b].narrow(0, n, T - n).eq(0).all().item<bool>());
    CHECK(at::isfinite(lse[b]).all().item<bool>());
    if (n == 0) continue;
    const at::Tensor leaf = qkv[b].narrow(0, 0, n).to(at::kDouble).requires_grad_(true),
                     parts = leaf.permute({1, 2, 0, 3});
    const at::Tensor scores = at::matmul(parts[0], parts[1].transpose(1, 2)) / std::sqrt(8.0);
    const at::Tensor want = at::matmul(at::softmax(scores, -1), parts[2]).transpose(0, 1);
    want.backward(d_out[b].narrow(0, 0, n).to(at::kDouble));
    CHECK(error(out[b].narrow(0, 0, n), want.detach()) <= tolerance);
    CHECK(error(lse[b].narrow(0, 0, n).permute({1, 0}), scores.detach().logsumexp(-1)) <=
          tolerance);
    for (int part = 0; part < 3; ++part)
      if (n > 1 || part == 2)
        CHECK(error(d_qkv[b].narrow(0, 0, n).select(1, part), leaf.grad().select(1, part)) <=
              tolerance);
  }
  counts[0].fill_(static_cast<int>(T + 1));
  CHECK_THROWS_AS(operations::bidirectional_attention(out, lse, qkv, counts, kind), InternalError);
}

TEST_CASE("math gives what flash gives, and takes no more memory than planned for it") {
  tensor::install_allocator_meter();
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const bool causal = GENERATE(true, false);
  const auto [B, T, H, D] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t, std::int64_t>(
      {{3, 256, 4, 32}, {2, 24, 2, 80}, {1, 300, 3, 64}, {5, 7, 2, 36}}));
  const double tolerance = type == at::kFloat ? 1e-5 : type == at::kHalf ? 4e-3 : 3e-2;
  INFO(c10::toString(type) << (causal ? " causal " : " padded ") << B << " x " << T << " x " << H
                           << " x " << D);
  const at::Tensor
      qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kFloat).to(type),
      d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kFloat).to(type);
  const at::Tensor lengths = at::full({B}, T, at::kInt);
  if (!causal)
    for (std::int64_t b = 0; b < B; ++b) lengths[b].fill_(b % 3 == 1 ? 0 : T - b);
  struct Results {
    at::Tensor out, lse, d_qkv;
  };
  const auto computed = [&](AttentionKind kind) {
    const Results r{at::full({B, T, H, D}, 7, type), at::full({B, T, H}, 7, at::kFloat),
                    at::full({B, T, 3, H, D}, 7, type)};
    if (causal) {
      operations::causal_attention(r.out, r.lse, qkv, kind);
      operations::causal_attention_backward(r.d_qkv, d_out, qkv, r.out, r.lse, kind);
    } else {
      operations::bidirectional_attention(r.out, r.lse, qkv, lengths, kind);
      operations::bidirectional_attention_backward(r.d_qkv, d_out, qkv, r.out, r.lse, lengths,
                                                   kind);
    }
    return r;
  };
  const Results flash = computed(AttentionKind::flash);
  computed(AttentionKind::math);  // libraries keep what they allocate once
  const std::int64_t before = tensor::allocator_bytes().current;
  tensor::reset_allocator_peak();
  const Results math = computed(AttentionKind::math);
  const std::int64_t results = math.out.nbytes() + math.lse.nbytes() + math.d_qkv.nbytes(),
                     taken = tensor::allocator_bytes().peak - before - results;
  const std::int64_t planned =
      architectures::library_bytes({.micro_batch_size = B,
                                    .length = T,
                                    .compute = tensor::dtype(type),
                                    .attention = {{.query_heads = H,
                                                   .key_value_heads = H,
                                                   .head_size = D,
                                                   .batch = B,
                                                   .length = T,
                                                   .kind = AttentionKind::math}}},
                                   at::get_num_threads());
  CHECK(taken <= planned);
  CHECK(error(math.out, flash.out.to(at::kDouble)) <= tolerance);
  CHECK(error(math.lse, flash.lse.to(at::kDouble)) <= tolerance);
  CHECK(error(math.d_qkv, flash.d_qkv.to(at::kDouble)) <= tolerance);
}

TEST_CASE("attention that only a GPU has is none of a CPU's") {
  const AttentionKind kind = GENERATE(AttentionKind::cudnn, AttentionKind::efficient);
  const at::Tensor qkv = at::ones({1, 4, 3, 1, 8}), out = at::ones({1, 4, 1, 8}),
                   lse = at::ones({1, 4, 1});
  CHECK_THROWS_AS(operations::causal_attention(out, lse, qkv, kind), InternalError);
}

}  // namespace attention_test
