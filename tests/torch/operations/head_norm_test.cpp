// Norms of queries and keys against sums of doubles.
#include "torch/operations/double_reference.hpp"
#include "operations/head_norm/head_norm.hpp"
#include <array>

namespace head_norm_test {

using namespace trainx;
using namespace double_reference;
using operations::HeadNorm;

namespace {

/// x, then weight and bias of queries, weight and bias of keys; empty: absent.
using Values = std::array<Doubles, 5>;

struct Normed {
  Doubles y, mean, rstd;
};

Normed formula(const HeadNorm& n, const Values& v) {
  const std::int64_t D = n.head_size, columns = (n.query_heads + 2 * n.key_value_heads) * D,
                     rows = std::ssize(v[0]) / columns;
  Normed out{v[0], {}, {}};
  for (std::int64_t r = 0; r < rows; ++r)
    for (const std::size_t part : {0, 1}) {
      const std::int64_t heads = part == 0 ? n.query_heads : n.key_value_heads,
                         first = r * columns + (part == 0 ? 0 : n.query_heads * D),
                         size = n.whole ? heads * D : D;
      const Doubles &weight = v[1 + 2 * part], &bias = v[2 + 2 * part];
      for (std::int64_t begin = 0; begin < heads * D; begin += size) {
        double mean = 0, squares = 0;
        for (std::int64_t c = begin; c < begin + size && !n.rms; ++c)
          mean += v[0][static_cast<std::size_t>(first + c)] / static_cast<double>(size);
        for (std::int64_t c = begin; c < begin + size; ++c)
          squares += std::pow(v[0][static_cast<std::size_t>(first + c)] - mean, 2);
        const double rstd = 1 / std::sqrt(squares / static_cast<double>(size) + n.epsilon);
        out.mean.push_back(mean);
        out.rstd.push_back(rstd);
        for (std::int64_t c = begin; c < begin + size; ++c) {
          double& y = out.y[static_cast<std::size_t>(first + c)];
          y = (y - mean) * rstd;
          const auto own = static_cast<std::size_t>(c);
          if (!weight.empty()) y *= weight[own % weight.size()] + n.weight_offset;
          if (!bias.empty()) y += bias[own % bias.size()];
        }
      }
    }
  return out;
}

struct Parameters {
  std::array<at::Tensor, 4> all;
  operations::HeadNormWeights weights() const {
    const auto at = [&](std::size_t i) { return all[i].defined() ? Tensor(all[i]) : Tensor(); };
    return {at(0), at(1), at(2), at(3)};
  }
};

}  // namespace

TEST_CASE("norms of queries and keys, forward and backward") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t D = GENERATE(2, 10, 20), group = GENERATE(1, 2, 3);
  const bool rms = GENERATE(true, false);
  enum Of { head, each_head, whole };
  const auto of = GENERATE(head, each_head, whole);
  enum Has { none, weight, both };
  const auto has = GENERATE(none, weight, both);
  const double offset = GENERATE(0.0, 1.0);
  if (has == none && (offset != 0 || of == each_head)) return;
  if (type != at::kFloat && (D != 10 || group != 2)) return;  // for time
  const std::int64_t K = D == 20 ? 1 : 2, Q = K * group, N = 3, columns = (Q + 2 * K) * D;
  const HeadNorm n{.query_heads = Q,
                   .key_value_heads = K,
                   .head_size = D,
                   .whole = of == whole,
                   .rms = rms,
                   .epsilon = D == 2 ? 0.05 : 1e-3,  // two elements may be next to equal
                   .weight_offset = offset};
  Operands operands(type);
  INFO(c10::toString(type) << " head size " << D << " group " << group << " rms " << rms << " of "
                           << of << " has " << has << " offset " << offset << " seed "
                           << operands.seed());
  const at::Tensor x = operands.normal({N, columns}), dy = operands.normal({N, columns});
  Parameters parameters;
  for (std::size_t i = 0; i < 4; ++i)
    if (has == both || (has == weight && i % 2 == 0))
      parameters.all[i] = operands.normal({of == head ? D : (i < 2 ? Q : K) * D});
  Values values{doubles(x)};
  for (std::size_t i = 0; i < 4; ++i) values[i + 1] = doubles(parameters.all[i]);

  const at::Tensor y = operands.empty(x.sizes()),
                   rstd = operands.empty({N, n.groups()}, at::kFloat),
                   mean = operands.empty({N, n.groups()}, at::kFloat);
  const Tensor kept = rms ? Tensor() : Tensor(mean);
  operations::head_norm(n, {y, kept, rstd}, x, parameters.weights());
  const Normed want = formula(n, values);
  CHECK(error(y, want.y) <= operands.tolerance());
  CHECK(error(rstd, want.rstd) <= 2e-5);
  if (!rms) CHECK(error(mean, want.mean) <= 2e-5);
  const at::Tensor alone = operands.empty(x.sizes());
  operations::head_norm(n, {alone, {}, {}}, x, parameters.weights());
  CHECK(at::equal(alone, y));
  const at::Tensor again = operands.empty(rstd.sizes(), at::kFloat);
  operations::head_norm(n, {{}, {}, again}, x, parameters.weights());
  CHECK(at::equal(again, rstd));

  const Doubles d = doubles(dy);
  const auto loss = [&] { return dot(formula(n, values).y, d); };
  Parameters gradients;
  for (std::size_t i = 0; i < 4; ++i)
    if (parameters.all[i].defined())
      gradients.all[i] = operands.empty(parameters.all[i].sizes(), at::kFloat);
  const at::Tensor dx = operands.empty(x.sizes()), over = dy.clone();
  operations::head_norm_backward(n, dx, gradients.weights(), dy, x, {{}, kept, rstd},
                                 parameters.weights(), false);
  CHECK(error(dx, slopes(values[0], loss)) <= operands.tolerance());
  std::array<Doubles, 4> want_of;
  for (std::size_t i = 0; i < 4; ++i) {
    if (!parameters.all[i].defined()) continue;
    INFO("parameter " << i);
    want_of[i] = slopes(values[i + 1], loss);
    CHECK(error(gradients.all[i], want_of[i]) <= 2e-5);
  }
  // over dy, and added to what there is
  operations::head_norm_backward(n, over, gradients.weights(), over, x, {{}, kept, rstd},
                                 parameters.weights(), true);
  CHECK(at::equal(over, dx));
  for (std::size_t i = 0; i < 4; ++i)
    if (parameters.all[i].defined())
      CHECK(error(gradients.all[i], sum(want_of[i], want_of[i])) <= 2e-5);
}

}  // namespace head_norm_test
