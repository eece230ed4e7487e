// Products of adapters, whose operands are columns of wider matrices, against loops.
#include "torch/operations/double_reference.hpp"
#include "operations/low_rank/low_rank.hpp"

namespace low_rank_test {

using namespace trainx;
using namespace double_reference;

namespace {

constexpr std::int64_t wider = 7;

/// Columns [2, 2 + columns) of a wider matrix.
at::Tensor inner(const at::Tensor& whole, std::int64_t columns) {
  return whole.narrow(1, 2, columns);
}

double at_of(const at::Tensor& x, std::int64_t row, std::int64_t column) {
  return doubles(x)[static_cast<std::size_t>(row * x.size(1) + column)];
}

}  // namespace

TEST_CASE("scaled products of columns of wider matrices") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t N = GENERATE(1, 5), in = GENERATE(1, 6), out = GENERATE(1, 3);
  const double scale = GENERATE(1.0, 0.375, -2.0);
  const bool adds = GENERATE(false, true);
  Operands operands(type);
  INFO(c10::toString(type) << " rows " << N << " in " << in << " out " << out << " scale " << scale
                           << " adds " << adds << " seed " << operands.seed());
  const at::Tensor whole_x = operands.normal({N, in + wider}),
                   whole_y = operands.normal({N, out + wider}), w = operands.normal({out, in}),
                   whole_sum = operands.normal({N, out + wider}), untouched = whole_y.clone();
  const at::Tensor x = inner(whole_x, in), y = inner(whole_y, out), sum = inner(whole_sum, out);
  operations::scaled_linear(Tensor(y), Tensor(x), Tensor(w), scale, adds ? Tensor(sum) : Tensor());
  Doubles want;
  for (std::int64_t i = 0; i < N; ++i)
    for (std::int64_t o = 0; o < out; ++o) {
      double product = 0;
      for (std::int64_t k = 0; k < in; ++k) product += at_of(x, i, k) * at_of(w, o, k);
      want.push_back(scale * product + (adds ? at_of(sum, i, o) : 0));
    }
  CHECK(error(y.contiguous(), want) <= operands.tolerance());
  // what lies beside the columns stays
  CHECK(at::equal(whole_y.narrow(1, 0, 2), untouched.narrow(1, 0, 2)));
  CHECK(at::equal(whole_y.narrow(1, 2 + out, wider - 2), untouched.narrow(1, 2 + out, wider - 2)));

  const at::Tensor whole_dx = operands.normal({N, in + wider}), dx = inner(whole_dx, in),
                   dy = inner(whole_sum, out), before = dx.clone();
  operations::scaled_linear_backward_input(Tensor(dx), Tensor(dy), Tensor(w), scale,
                                           adds ? Tensor(dx) : Tensor());
  want.clear();
  for (std::int64_t i = 0; i < N; ++i)
    for (std::int64_t k = 0; k < in; ++k) {
      double product = 0;
      for (std::int64_t o = 0; o < out; ++o) product += at_of(dy, i, o) * at_of(w, o, k);
      want.push_back(scale * product + (adds ? at_of(before, i, k) : 0));
    }
  CHECK(error(dx.contiguous(), want) <= operands.tolerance());

  const at::Tensor dw = at::full({out, in}, 0.5), cast = at::full({N * (in + out)}, 0.0);
  operations::scaled_linear_backward_weight(Tensor(dw), Tensor(dy), Tensor(x), adds, Tensor(cast));
  want.clear();
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t k = 0; k < in; ++k) {
      double product = adds ? 0.5 : 0;
      for (std::int64_t i = 0; i < N; ++i) product += at_of(dy, i, o) * at_of(x, i, k);
      want.push_back(product);
    }
  CHECK(error(dw, want) <= 1e-5);
}

TEST_CASE("a layer and products that are added to some of its columns") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t N = GENERATE(1, 5), in = GENERATE(1, 6);
  const bool biased = GENERATE(false, true);
  Operands operands(type);
  INFO(c10::toString(type) << " rows " << N << " in " << in << " biased " << biased << " seed "
                           << operands.seed());
  constexpr std::int64_t out = 9, ranks = 5;
  const at::Tensor x = operands.normal({N, in}), w = operands.normal({out, in}),
                   bias = operands.normal({out}), narrow = operands.normal({N, ranks}),
                   b0 = operands.normal({3, 2}), b1 = operands.normal({4, 3}),
                   y = operands.normal({N, out});
  const operations::AddedColumns added[] = {{Tensor(narrow).narrow(1, 0, 2), Tensor(b0), 0},
                                            {Tensor(narrow).narrow(1, 2, 3), Tensor(b1), 5}};
  operations::summed_linear(Tensor(y), Tensor(x), Tensor(w), biased ? Tensor(bias) : Tensor(),
                            added);
  Doubles want;
  for (std::int64_t i = 0; i < N; ++i)
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = biased ? doubles(bias)[static_cast<std::size_t>(o)] : 0;
      for (std::int64_t k = 0; k < in; ++k) sum += at_of(x, i, k) * at_of(w, o, k);
      for (std::int64_t r = 0; o < 3 && r < 2; ++r) sum += at_of(narrow, i, r) * at_of(b0, o, r);
      for (std::int64_t r = 0; o >= 5 && r < 3; ++r)
        sum += at_of(narrow, i, 2 + r) * at_of(b1, o - 5, r);
      want.push_back(sum);
    }
  // it is rounded twice
  CHECK(error(y, want) <= 2 * operands.tolerance());

  const at::Tensor dy = operands.normal({N, out}), d_narrow = operands.normal({N, ranks}),
                   a = operands.normal({ranks, in}), dx = operands.normal({N, in}),
                   before = dx.clone();
  for (const bool adds : {true, false}) {
    operations::summed_linear_backward_input(Tensor(dx), Tensor(dy), Tensor(w), Tensor(d_narrow),
                                             Tensor(a), adds ? Tensor(dx) : Tensor());
    want.clear();
    for (std::int64_t i = 0; i < N; ++i)
      for (std::int64_t k = 0; k < in; ++k) {
        double sum = adds ? at_of(before, i, k) : 0;
        for (std::int64_t o = 0; o < out; ++o) sum += at_of(dy, i, o) * at_of(w, o, k);
        for (std::int64_t r = 0; r < ranks; ++r) sum += at_of(d_narrow, i, r) * at_of(a, r, k);
        want.push_back(sum);
      }
    CHECK(error(dx, want) <= 2 * operands.tolerance());
  }
}

}  // namespace low_rank_test
