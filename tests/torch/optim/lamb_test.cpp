#include "formula.hpp"
#include "support/catch.hpp"

namespace lamb_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

TEST_CASE("lamb equals its formula in double over 50 steps") {
  const options::LambOptions o{0.9, 0.95, 1e-6, GENERATE(0.0, 0.1)};
  const std::int64_t n = GENERATE(1, 127, 129, 4096, 20003);
  GroupFixture f(n, o, DType::f32, Master::absent, 73);
  std::vector<std::vector<double>> m(3), v(3);
  // You et al. 2020, Alg. 2 with phi the identity.
  const auto want = follow_tensors(
      f, *make_optimizer(o),
      [&](const FormulaStep& s, const auto& p, std::size_t k, const std::vector<double>& g,
          double* w) {
        m[k].resize(g.size());
        v[k].resize(g.size());
        std::vector<double> direction(g.size());
        double weights2 = 0, directions2 = 0;
        for (std::size_t i = 0; i < g.size(); ++i) {
          m[k][i] = o.beta1 * m[k][i] + (1 - o.beta1) * g[i];
          v[k][i] = o.beta2 * v[k][i] + (1 - o.beta2) * g[i] * g[i];
          const double m_hat = m[k][i] / (1 - std::pow(o.beta1, s.t)),
                       v_hat = v[k][i] / (1 - std::pow(o.beta2, s.t));
          direction[i] = m_hat / (std::sqrt(v_hat) + o.eps) + (p.decay ? o.weight_decay * w[i] : 0);
          weights2 += w[i] * w[i];
          directions2 += direction[i] * direction[i];
        }
        const double ratio = weights2 > 0 && directions2 > 0 ? std::sqrt(weights2 / directions2)
                                                             : 1;
        for (std::size_t i = 0; i < g.size(); ++i) w[i] -= s.lr * ratio * direction[i];
      },
      73);
  CHECK(largest_difference(f, f.exact, want) <= 5e-5);
  CHECK(f.gaps_untouched());
}

TEST_CASE("lamb takes a ratio of 1 where weights or direction are zero") {
  const options::LambOptions o{0.9, 0.999, 1e-6, 0};
  GroupFixture f(10, o, DType::f32, Master::absent, 79);
  for (std::size_t i = 0; i < f.used.size(); ++i)
    if (f.used[i]) f.exact[i] = 0, f.gradient[i] = 0;
  f.gradient[0] = 1;
  StepScalars s;
  s.norm2 = 1;
  s.lr = 0.5;
  make_optimizer(o)->update(f.memory(), s);
  CHECK(std::abs(f.exact[0] + 0.5) <= 1e-5);
  CHECK(f.exact[1] == 0);
}

}  // namespace lamb_test
