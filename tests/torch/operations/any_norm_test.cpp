// Residual sums and norms in every form against sums of doubles.
#include "torch/operations/double_reference.hpp"
#include "operations/norm/any_norm.hpp"
#include <tuple>

namespace any_norm_test {

using namespace trainx;
using namespace double_reference;
using operations::NormForm;

namespace {

struct Values {
  Doubles residual, branch, bias, weight, shift, factors;  // empty: absent
};

struct Sums {
  Doubles sum, normed, mean, rstd;
};

Sums formula(const NormForm& form, const Values& v, std::size_t columns) {
  Sums out{v.residual, {}, {}, {}};
  for (std::size_t i = 0; i < v.branch.size(); ++i)
    out.sum[i] += form.branch_scale * (v.factors.empty() ? 1 : v.factors[i]) *
                  (v.branch[i] + (v.bias.empty() ? 0 : v.bias[i % columns]));
  const auto n = static_cast<double>(columns);
  for (std::size_t first = 0; first < out.sum.size(); first += columns) {
    double mean = 0, squares = 0;
    for (std::size_t c = 0; c < columns && !form.rms; ++c) mean += out.sum[first + c] / n;
    for (std::size_t c = 0; c < columns; ++c) squares += std::pow(out.sum[first + c] - mean, 2);
    const double rstd = 1 / std::sqrt(squares / n + form.epsilon);
    out.mean.push_back(mean);
    out.rstd.push_back(rstd);
    for (std::size_t c = 0; c < columns; ++c)
      out.normed.push_back((out.sum[first + c] - mean) * rstd *
                               (v.weight.empty() ? 1 : v.weight[c] + form.weight_offset) +
                           (v.shift.empty() ? 0 : v.shift[c]));
  }
  return out;
}

Tensor there(const at::Tensor& t) { return t.defined() ? Tensor(t) : Tensor(); }

}  // namespace

TEST_CASE("residual sums and norms in every form, forward and backward") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t C = GENERATE(2, 10, 20, 67);
  const bool rms = GENERATE(true, false), adds = GENERATE(true, false);
  enum Has { nothing, weight_alone, everything };
  const auto has = GENERATE(nothing, weight_alone, everything);
  const double probability = GENERATE(0.0, 0.3), offset = GENERATE(0.0, 1.0);
  if ((!adds && probability > 0) || (has == nothing && offset != 0)) return;
  if (type != at::kFloat && C != 20) return;  // for time
  constexpr std::int64_t batch = 2, length = 3, N = batch * length;
  const NormForm form{.rms = rms,
                      .epsilon = C == 2 ? 0.05 : 1e-3,  // two elements may be next to equal
                      .weight_offset = offset,
                      .branch_scale = adds && has != weight_alone ? 0.22 : 1};
  Operands operands(type);
  INFO(c10::toString(type) << " columns " << C << " rms " << rms << " adds " << adds << " has "
                           << has << " dropout " << probability << " offset " << offset << " seed "
                           << operands.seed());
  const std::int64_t positions[batch] = {4, 9};
  const operations::Dropout dropout{.probability = probability,
                                    .key = {.seed = 5, .block = 1, .site = 2},
                                    .positions = positions,
                                    .length = length};
  at::Tensor residual = operands.normal({N, C}), branch, bias, weight, shift;
  if (adds) branch = operands.normal({N, C});
  if (adds && has == everything) bias = operands.normal({C});
  if (has != nothing) weight = operands.normal({C});
  if (has == everything) shift = operands.normal({C});
  Values values{doubles(residual), doubles(branch), doubles(bias),
                doubles(weight),   doubles(shift),  {}};
  if (dropout)
    for (std::int64_t r = 0; r < N; ++r) {
      std::vector<float> factors(static_cast<std::size_t>(C));
      operations::dropout_factors(dropout, r, C, 0, C, factors.data());
      values.factors.insert(values.factors.end(), factors.begin(), factors.end());
    }

  const at::Tensor made = operands.empty({N, C}), mean = operands.empty({N}, at::kFloat),
                   rstd = operands.empty({N}, at::kFloat), normed = operands.empty({N, C});
  const at::Tensor& total = adds ? made : residual;
  const Tensor kept = rms ? Tensor() : Tensor(mean);
  operations::any_norm(form, {total, kept, rstd, normed}, adds ? Tensor(residual) : Tensor(),
                       there(branch), there(bias), there(weight), there(shift), dropout);
  const Sums want = formula(form, values, static_cast<std::size_t>(C));
  CHECK(error(total, want.sum) <= operands.tolerance());
  CHECK(error(normed, want.normed) <= operands.tolerance());
  CHECK(error(rstd, want.rstd) <= operands.tolerance());
  if (!rms) CHECK(error(mean, want.mean) <= operands.tolerance());
  // again from the sum and its statistics, from the sum alone, and the sum alone
  const at::Tensor again = operands.empty({N, C}), alone = operands.empty({N, C});
  operations::any_norm(form, {total, kept, rstd, again, false}, {}, {}, {}, there(weight),
                       there(shift), {});
  CHECK(at::equal(again, normed));
  operations::any_norm(form, {total, {}, {}, alone, false}, {}, {}, {}, there(weight), there(shift),
                       {});
  CHECK(at::equal(alone, normed));
  if (adds) {
    const at::Tensor only = operands.empty({N, C});
    operations::any_norm(form, {only, {}, {}, {}, false}, residual, branch, there(bias), {}, {},
                         dropout);
    CHECK(at::equal(only, total));
  }

  const at::Tensor d_normed = operands.normal({N, C}), d_sum = operands.normal({N, C});
  const bool has_sum = GENERATE(false, true), norms = GENERATE(false, true);
  if (!has_sum && !norms) return;
  INFO("gradient of the sum " << has_sum << ", of the norm " << norms);
  const Doubles dn = doubles(d_normed), ds = doubles(d_sum);
  const auto loss = [&] {
    const Sums s = formula(form, values, static_cast<std::size_t>(C));
    return (norms ? dot(s.normed, dn) : 0) + (has_sum ? dot(s.sum, ds) : 0);
  };
  const auto gradient = [&](const at::Tensor& of) {
    return of.defined() ? operands.empty({C}, at::kFloat) : at::Tensor();
  };
  const at::Tensor dx = operands.empty({N, C}), d_branch = operands.empty({N, C}),
                   d_weight = gradient(weight), d_shift = gradient(shift), d_bias = gradient(bias);
  operations::NormedSumGradients to{.dx = dx};
  if (adds) to.d_branch = d_branch;
  if (norms) to.d_weight = there(d_weight), to.d_shift = there(d_shift);
  to.d_bias = there(d_bias);
  const auto run = [&](const Tensor& of_sum, const Tensor& of_norm) {
    operations::any_norm_backward(form, to, of_sum, of_norm, total, kept, rstd, there(weight),
                                  dropout);
  };
  run(has_sum ? Tensor(d_sum) : Tensor(), norms ? Tensor(d_normed) : Tensor());
  CHECK(error(dx, slopes(values.residual, loss)) <= operands.tolerance());
  if (adds) CHECK(error(d_branch, slopes(values.branch, loss)) <= operands.tolerance());
  const auto check_parameters = [&](double times) {
    const std::tuple<const at::Tensor&, Doubles&, bool> all[] = {{d_weight, values.weight, norms},
                                                                 {d_shift, values.shift, norms},
                                                                 {d_bias, values.bias, true}};
    for (const auto& [got, of, is_wanted] : all) {
      if (!got.defined() || !is_wanted) continue;
      Doubles wanted = slopes(of, loss);
      for (double& v : wanted) v *= times;
      CHECK(error(got, wanted) <= operands.tolerance());
    }
  };
  check_parameters(1);
  // over each gradient that comes, and parameters' added to what there is
  const at::Tensor first = dx.clone(), over = (has_sum ? d_sum : d_normed).clone();
  to.dx = over;
  to.accumulate = true;
  if (has_sum)
    run(over, norms ? Tensor(d_normed) : Tensor());
  else
    run({}, over);
  CHECK(at::equal(over, first));
  check_parameters(2);
  if (!has_sum || !norms) return;
  const at::Tensor normed_over = d_normed.clone();
  to.dx = normed_over;
  run(d_sum, normed_over);
  CHECK(at::equal(normed_over, first));
}

}  // namespace any_norm_test
