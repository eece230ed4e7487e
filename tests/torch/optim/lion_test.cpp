#include "formula.hpp"
#include "support/catch.hpp"

namespace lion_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

TEST_CASE("lion equals its formula in double over 50 steps") {
  const options::LionOptions o{0.9, 0.99, GENERATE(0.0, 0.1)};
  const std::int64_t n = GENERATE(1, 127, 128, 129, 20003);
  GroupFixture f(n, o, DType::f32, Master::absent, 47);
  std::vector<double> m(f.exact.size()), unsure(m);
  // Chen et al. 2023, Alg. 2.
  const auto want = follow(
      f, *make_optimizer(o),
      [&](const FormulaStep& s, const auto& p, std::size_t i, double g, double& w) {
        const double c = o.beta1 * m[i] + (1 - o.beta1) * g;
        // fp32 may see the other sign
        if (std::abs(c) < 1e-6 * (std::abs(m[i]) + std::abs(g))) unsure[i] += 2 * s.lr;
        w -= s.lr * ((c > 0) - (c < 0) + (p.decay ? o.weight_decay * w : 0));
        m[i] = o.beta2 * m[i] + (1 - o.beta2) * g;
      },
      47);
  for (std::size_t i = 0; i < f.used.size(); ++i)
    if (f.used[i] && !(std::abs(f.exact[i] - want[i]) <= 1e-5 + unsure[i]))
      FAIL("n " << n << " element " << i << ": " << f.exact[i] << " instead of " << want[i]);
  CHECK(f.gaps_untouched());
}

TEST_CASE("lion moves nothing where momentum and gradient are zero") {
  const options::LionOptions o;
  GroupFixture f(100, o, DType::f32, Master::absent, 3);
  std::fill(f.gradient.begin(), f.gradient.end(), 0.0f);
  const auto before = f.exact;
  StepScalars s;
  s.lr = 1;
  make_optimizer(o)->update(f.memory(), s);
  CHECK(same_bits(before, f.exact));
}

}  // namespace lion_test
