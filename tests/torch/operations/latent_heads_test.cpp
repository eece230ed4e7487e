// Columns of a tensor, and heads of latent attention, against loops.
#include "torch/operations/double_reference.hpp"
#include "operations/columns/columns.hpp"
#include "operations/latent_heads/latent_heads.hpp"

namespace latent_heads_test {

using namespace trainx;
using namespace double_reference;
using operations::LatentHeads;

namespace {

constexpr std::int64_t N = 5;

/// Rows of y by its documentation.
Doubles formula(const LatentHeads& l, const Doubles& q, const Doubles& kv, const Doubles& latent) {
  const auto H = static_cast<std::size_t>(l.heads), P = static_cast<std::size_t>(l.plain),
             R = static_cast<std::size_t>(l.rope), V = static_cast<std::size_t>(l.value_size),
             C = latent.size() / N;
  Doubles y;
  for (std::size_t row = 0; row < N; ++row) {
    for (std::size_t h = 0; h < H; ++h) {
      const double* const head = q.data() + (row * H + h) * (P + R);
      y.insert(y.end(), head + P, head + P + R);
      y.insert(y.end(), head, head + P);
    }
    for (std::size_t h = 0; h < H; ++h) {
      const double* const head = kv.data() + (row * H + h) * (P + V);
      y.insert(y.end(), latent.data() + row * C + C - R, latent.data() + (row + 1) * C);
      y.insert(y.end(), head, head + P);
    }
    for (std::size_t h = 0; h < H; ++h) {
      const double* const head = kv.data() + (row * H + h) * (P + V);
      y.insert(y.end(), head + P, head + P + V);
    }
  }
  return y;
}

}  // namespace

TEST_CASE("queries, keys and values of latent attention, and back") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const LatentHeads l{.heads = GENERATE(1, 3), .plain = 4, .rope = 2, .value_size = GENERATE(1, 5)};
  const bool adds = GENERATE(false, true), in_place = GENERATE(false, true);
  Operands operands(type);
  INFO(c10::toString(type) << " heads " << l.heads << " values " << l.value_size << " adds " << adds
                           << " in place " << in_place << " seed " << operands.seed());
  const at::Tensor q = operands.normal({N, l.heads * 6}),
                   kv = operands.normal({N, l.heads * (4 + l.value_size)}),
                   latent = operands.normal({N, 7}), y = operands.empty({N, l.columns()});
  operations::latent_heads(l, y, {q, kv, latent});
  CHECK(error(y, formula(l, doubles(q), doubles(kv), doubles(latent))) == 0);

  const at::Tensor dy = operands.normal({N, l.columns()});
  std::vector<at::Tensor> to, there;
  for (const at::Tensor& x : {q, kv, latent}) {
    there.push_back(operands.normal(x.sizes()));
    to.push_back(adds && in_place ? there.back().clone() : operands.empty(x.sizes()));
  }
  const operations::LatentParts into{to[0], to[1], to[2]};
  const operations::LatentParts addends =
      !adds      ? operations::LatentParts{}
      : in_place ? into
                 : operations::LatentParts{there[0], there[1], there[2]};
  operations::latent_heads_backward(l, into, dy, addends);
  Doubles from[] = {doubles(q), doubles(kv), doubles(latent)};
  const Doubles d = doubles(dy);
  for (int part = 0; part < 3; ++part) {
    Doubles want =
        slopes(from[part], [&] { return dot(formula(l, from[0], from[1], from[2]), d); });
    if (adds) want = sum(want, doubles(there[static_cast<std::size_t>(part)]));
    INFO("gradient of part " << part);
    CHECK(error(to[static_cast<std::size_t>(part)], want) <= operands.tolerance());
  }
}

TEST_CASE("columns, and their gradient among those of others") {
  const auto type = GENERATE(at::kFloat, at::kHalf);
  const std::int64_t first = GENERATE(0, 2), count = GENERATE(1, 3);
  Operands operands(type);
  INFO(c10::toString(type) << " columns " << first << " and " << count << " seed "
                           << operands.seed());
  const at::Tensor x = operands.normal({N, 5}), y = operands.empty({N, count}),
                   dx = operands.empty({N, 5}), there = operands.normal({N, 5});
  operations::take_columns(y, x, first);
  CHECK(at::equal(y, x.narrow(1, first, count)));
  operations::take_columns_backward(dx, y, first, {});
  CHECK(at::equal(dx.narrow(1, first, count), y));
  CHECK(error(dx.abs().sum(), {doubles(y.abs().sum())[0]}) <= operands.tolerance());
  operations::take_columns_backward(dx, y, first, there);
  at::Tensor want = there.clone();
  want.narrow(1, first, count).add_(y);
  CHECK(at::equal(dx, want));
  const at::Tensor same = there.clone();
  operations::take_columns_backward(same, y, first, same);
  CHECK(at::equal(same, want));
}

}  // namespace latent_heads_test
