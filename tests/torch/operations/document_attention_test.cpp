// A row of several documents is each of them by itself.
#include "core/error.hpp"
#include "operations/attention/attention.hpp"
#include "operations/embedding/embedding.hpp"
#include "operations/attention/math_attention.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <limits>
#include <ostream>
#include <vector>
#include "support/catch.hpp"

namespace document_attention_test {

using namespace trainx;

namespace {

struct Row {
  std::vector<std::int64_t> documents;
};

// For LibTorch's printing of vectors, which Catch2 v3 takes.
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.documents;
}

at::Tensor starts_of(const std::vector<Row>& rows, std::int64_t length) {
  const at::Tensor starts =
      at::full({static_cast<std::int64_t>(rows.size()), length}, -1, at::kInt);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    std::int64_t begin = 0;
    for (const std::int64_t tokens : rows[b].documents) {
      starts[static_cast<std::int64_t>(b)].narrow(0, begin, tokens).fill_(begin);
      begin += tokens;
    }
  }
  return starts;
}

/// Calls f(row, begin, tokens) for each document.
template <class F>
void for_documents(const std::vector<Row>& rows, F f) {
  for (std::size_t b = 0; b < rows.size(); ++b) {
    std::int64_t begin = 0;
    for (const std::int64_t tokens : rows[b].documents) {
      f(static_cast<std::int64_t>(b), begin, tokens);
      begin += tokens;
    }
  }
}

}  // namespace

TEST_CASE(
    "attention of packed rows is that of each document, and padding gives and takes nothing") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const AttentionKind kind = GENERATE(AttentionKind::automatic, AttentionKind::math);
  const std::vector<Row> rows = GENERATE(std::vector<Row>{{{1}}}, std::vector<Row>{{{40}}, {{40}}},
                                         std::vector<Row>{{{1, 1, 1}}, {{}}},
                                         std::vector<Row>{{{200, 7, 33}}, {{1, 238}}, {{240}}});
  const std::int64_t B = static_cast<std::int64_t>(rows.size()),
                     T = rows[0].documents.size() == 1 ? rows[0].documents[0]
                         : rows.size() == 2            ? 5
                                                       : 240,
                     H = 3, D = 8;
  INFO(c10::toString(type) << " length " << T << " rows " << B << " by " << name_of(kind));
  const float poison = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor
      qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kFloat).to(type),
      d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kFloat).to(type);
  const at::Tensor out = at::full({B, T, H, D}, poison, type),
                   lse = at::full({B, T, H}, poison, at::kFloat),
                   d_qkv = at::full({B, T, 3, H, D}, poison, type);
  const at::Tensor starts = starts_of(rows, T);
  operations::document_attention(out, lse, qkv, starts, kind);
  operations::document_attention_backward(d_qkv, d_out, qkv, out, lse, starts, kind);

  const at::Tensor want = at::zeros({B, T, H, D}, type),
                   want_lse = at::zeros({B, T, H}, at::kFloat),
                   want_d = at::zeros({B, T, 3, H, D}, type);
  for_documents(rows, [&](std::int64_t b, std::int64_t begin, std::int64_t tokens) {
    const auto part = [&](const at::Tensor& x) {
      return x.narrow(0, b, 1).narrow(1, begin, tokens);
    };
    const at::Tensor alone = part(qkv).clone(), result = part(out).clone(),
                     log_sum = part(lse).clone(), d = part(d_qkv).clone(),
                     of_out = part(d_out).clone();
    operations::causal_attention(result, log_sum, alone, kind);
    operations::causal_attention_backward(d, of_out, alone, result, log_sum, kind);
    part(want).copy_(result);
    part(want_lse).copy_(log_sum);
    part(want_d).copy_(d);
  });
  // The same work on the same numbers, which may lie otherwise in memory: equal to the bit where
  // that does not matter to the library's products.
  const double tolerance = type == at::kFloat ? 1e-6 : 1e-2;
  const auto close = [&](const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() <=
           tolerance * (1 + b.to(at::kDouble).abs().max().item<double>());
  };
  CHECK(close(out, want));
  CHECK(close(d_qkv, want_d));
  if (kind != AttentionKind::math) CHECK(close(lse, want_lse));  // math leaves none
}

TEST_CASE("math with the scores of whole rows is that of each document") {
  const std::vector<Row> rows{{{20, 1, 30}}, {{51}}, {{7, 7}}, {{}}};
  const std::int64_t B = 4, T = 51, H = 3, D = 8;
  const at::Tensor qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kFloat),
                   d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kFloat);
  const at::Tensor starts = starts_of(rows, T);
  const at::Tensor want = at::zeros({B, T, H, D}), want_lse = at::zeros({B, T, H}),
                   want_d = at::zeros({B, T, 3, H, D});
  operations::document_attention(want, want_lse, qkv, starts, AttentionKind::math);
  operations::document_attention_backward(want_d, d_out, qkv, want, want_lse, starts,
                                          AttentionKind::math);
  const at::Tensor out = at::zeros({B, T, H, D}), lse = at::zeros({B, H, T}),
                   d = at::zeros({B, T, 3, H, D});
  operations::math_attention(out, lse, qkv, {.causal = true, .starts = starts});
  operations::math_attention_backward(d, d_out, qkv, out, {.causal = true, .starts = starts});
  CHECK((out - want).abs().max().item<float>() <= 1e-5);
  CHECK((lse.transpose(1, 2) - want_lse).abs().max().item<float>() <= 1e-5);
  CHECK((d - want_d).abs().max().item<float>() <= 1e-5);
}

TEST_CASE("starts that are none are refused") {
  const at::Tensor qkv = at::ones({1, 4, 3, 1, 4}), out = at::ones({1, 4, 1, 4}),
                   lse = at::ones({1, 4, 1});
  const auto starts = [](std::vector<int> values) {
    const at::Tensor s = at::zeros({1, 4}, at::kInt);
    for (std::int64_t i = 0; i < 4; ++i) s[0][i] = values[static_cast<std::size_t>(i)];
    return s;
  };
  const auto attend = [&](std::vector<int> values) {
    const at::Tensor s = starts(std::move(values));
    operations::document_attention(out, lse, qkv, s);
  };
  CHECK_THROWS_AS(attend({0, 0, 1, 1}), InternalError);
  CHECK_THROWS_AS(attend({-1, 1, 1, 1}), InternalError);
  CHECK_THROWS_AS(attend({0, 0, 3, 3}), InternalError);
  CHECK_NOTHROW(attend({-1, -1, -1, -1}));
}

TEST_CASE("positions count from the first token of a document") {
  const std::vector<Row> rows{{{3, 2}}, {{6}}, {{}}};
  const std::int64_t T = 6, C = 40, V = 11;
  const at::Tensor tokens = at::randint(V, {3, T}, at::detail::createCPUGenerator(3), at::kInt),
                   starts = starts_of(rows, T);
  const at::Tensor wte = at::randn({V, C}, at::detail::createCPUGenerator(4), at::kFloat),
                   wpe = at::randn({T, C}, at::detail::createCPUGenerator(5), at::kFloat);
  const at::Tensor out = at::zeros({3 * T, C});
  operations::embedding(out, tokens, wte, wpe, {}, Tensor(starts));
  const at::Tensor d = at::randn({3 * T, C}, at::detail::createCPUGenerator(6), at::kFloat),
                   d_wpe = at::ones({T, C}), want_d = at::ones({T, C});
  operations::embedding_backward_positions(d_wpe, d, T, true, Tensor(starts));
  for_documents(rows, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = b * T + begin + i;
      CHECK(at::equal(out[row], wte[tokens[b][begin + i].item<int>()] + wpe[i]));
      want_d[i] += d[row];
    }
  });
  CHECK((d_wpe - want_d).abs().max().item<float>() <= 1e-5);
  operations::embedding_backward_positions(d_wpe, d, T, false, Tensor(starts));
  CHECK((d_wpe + 1 - want_d).abs().max().item<float>() <= 1e-5);
}

}  // namespace document_attention_test
