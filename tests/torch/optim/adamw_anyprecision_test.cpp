#include "core/error.hpp"
#include "formula.hpp"
#include "support/catch.hpp"

namespace adamw_anyprecision_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

using options::StateDtype;
options::AdamWAnyPrecisionOptions with_options(StateDtype momentum, StateDtype variance, bool kahan,
                                               double decay) {
  options::AdamWAnyPrecisionOptions o{0.9, 0.95, 1e-8, decay};
  o.momentum_dtype = momentum;
  o.variance_dtype = variance;
  o.use_kahan_summation = kahan;
  return o;
}
double kept_as(StateDtype type, double x) {
  return type == StateDtype::bf16 ? widen_bf16(round_to_bf16(static_cast<float>(x))) : x;
}

}  // namespace

TEST_CASE(
    "adamw_anyprecision equals its formula in double over 50 steps, states rounded where they are "
    "kept") {
  const auto o = with_options(GENERATE(StateDtype::fp32, StateDtype::bf16),
                              GENERATE(StateDtype::fp32, StateDtype::bf16), false, 0.1);
  const std::int64_t n = GENERATE(1, 127, 129, 20003);
  GroupFixture f(n, o, DType::f32, Master::absent, 53);
  std::vector<double> m(f.exact.size()), v(m);
  const auto want = follow(
      f, *make_optimizer(o),
      [&](const FormulaStep& s, const auto& p, std::size_t i, double g, double& w) {
        m[i] = kept_as(o.momentum_dtype,
                       kept_as(o.momentum_dtype, o.beta1 * m[i]) + (1 - o.beta1) * g);
        v[i] = kept_as(o.variance_dtype,
                       kept_as(o.variance_dtype, o.beta2 * v[i]) + (1 - o.beta2) * g * g);
        if (p.decay) w *= 1 - s.lr * o.weight_decay;
        w -= s.lr / (1 - std::pow(o.beta1, s.t)) * m[i] /
             (std::sqrt(v[i]) / std::sqrt(1 - std::pow(o.beta2, s.t)) + o.eps);
      },
      53);
  // Where fp32 and double round a bf16 state to different neighbours they go on apart by one of its
  // steps, 2^-8.
  const bool exact = o.momentum_dtype == StateDtype::fp32 && o.variance_dtype == StateDtype::fp32;
  CHECK(largest_difference(f, f.exact, want) <= (exact ? 3e-5 : 3e-3));
  CHECK(f.gaps_untouched());
}

TEST_CASE("adamw_anyprecision with fp32 states is adamw") {
  const auto o = with_options(StateDtype::fp32, StateDtype::fp32, false, 0.1);
  const options::AdamWOptions same{o.beta1, o.beta2, o.eps, o.weight_decay};
  GroupFixture f(5001, o, DType::bf16, Master::split, 59),
      adamw(5001, same, DType::bf16, Master::split, 59);
  for (std::int64_t step = 0; step < 50; ++step) {
    f.new_gradient(static_cast<unsigned>(step));
    adamw.gradient = f.gradient;
    make_optimizer(o)->update(f.memory(), scalars_of(f, step));
    make_optimizer(same)->update(adamw.memory(), scalars_of(adamw, step));
  }
  const auto want = adamw.weights();
  CHECK(largest_difference(f, f.weights(), {want.begin(), want.end()}) <= 1e-5);
}

TEST_CASE("Kahan summation in bf16 follows fp32 where bf16 alone stands still") {
  const auto kahan = with_options(StateDtype::bf16, StateDtype::bf16, true, 0.1),
             lossy = with_options(StateDtype::bf16, StateDtype::bf16, false, 0.1);
  GroupFixture exact(5001, lossy, DType::f32, Master::absent, 61),
      compensated(5001, kahan, DType::bf16, Master::absent, 61),
      alone(5001, lossy, DType::bf16, Master::absent, 61);
  exact.exact = compensated.weights();
  const auto before = exact.exact;
  for (std::int64_t step = 0; step < 200; ++step) {
    exact.new_gradient(6100);  // always the same way
    compensated.gradient = alone.gradient = exact.gradient;
    StepScalars s = scalars_of(exact, step);
    s.lr = 1e-5;
    make_optimizer(lossy)->update(exact.memory(), s);
    make_optimizer(lossy)->update(alone.memory(), s);
    make_optimizer(kahan)->update(compensated.memory(), s);
  }
  const auto got = compensated.weights(), stuck = alone.weights();
  double error = 0, stuck_error = 0, moved = 0;
  for (std::size_t i = 0; i < exact.used.size(); ++i) {
    if (!exact.used[i]) continue;
    const double owed = compensated.states[2][i];  // what the weight could not hold
    if (!(std::abs(got[i] + owed - exact.exact[i]) <=
          2e-4 + 0.1 * std::abs(exact.exact[i] - before[i])))
      FAIL("element " << i << ": " << got[i] << " + " << owed << " instead of " << exact.exact[i]);
    error += std::abs(got[i] + owed - exact.exact[i]);
    stuck_error += std::abs(stuck[i] - exact.exact[i]);
    moved += std::abs(before[i] - exact.exact[i]);
  }
  CHECK(error < 0.05 * moved);
  CHECK(stuck_error > 0.3 * moved);
  CHECK(compensated.gaps_untouched());
  CHECK_THROWS_AS(
      make_optimizer(kahan)->update(GroupFixture(10, kahan, DType::f32, Master::absent, 1).memory(),
                                    StepScalars{}),
      InternalError);
}

}  // namespace adamw_anyprecision_test
