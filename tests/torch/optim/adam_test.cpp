#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include "formula.hpp"
#include "support/catch.hpp"

namespace adam_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

TEST_CASE("adam equals its formula in double over 50 steps") {
  const options::AdamOptions o{0.9, 0.95, 1e-8, GENERATE(0.0, 0.1)};
  const std::int64_t n = GENERATE(1, 127, 128, 129, 20003);
  GroupFixture f(n, o, DType::f32, Master::absent, 41);
  std::vector<double> m(f.exact.size()), v(m);
  // Kingma & Ba 2015, Alg. 1; weight decay as a part of the gradient.
  const auto want = follow(
      f, *make_optimizer(o),
      [&](const FormulaStep& s, const auto& p, std::size_t i, double gradient, double& w) {
        const double g = gradient + (p.decay ? o.weight_decay * w : 0);
        m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
        v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
        const double m_hat = m[i] / (1 - std::pow(o.beta1, s.t)),
                     v_hat = v[i] / (1 - std::pow(o.beta2, s.t));
        w -= s.lr * m_hat / (std::sqrt(v_hat) + o.eps);
      },
      41);
  CHECK(largest_difference(f, f.exact, want) <= 3e-5);
  CHECK(f.gaps_untouched());
}

TEST_CASE("adam equals LibTorch's fused step") {
  const options::AdamOptions o{0.9, 0.95, 1e-8, 0.1};
  GroupFixture f(5001, o, DType::f32, Master::absent, 7), reference = f;
  const auto adam = make_optimizer(o);
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(700 + step);
    reference.gradient = f.gradient;
    StepScalars s;
    s.norm2 = 1;
    s.lr = 3e-3;
    s.applied_steps = step;
    adam->update(f.memory(), s);
    for (const auto& p : reference.group.parameters) {
      const auto view = [&](float* all) {
        return std::vector<at::Tensor>{at::from_blob(all + p.offset, {p.dims[0]}, at::kFloat)};
      };
      const std::vector<at::Tensor> none,
          count{at::full({}, static_cast<float>(step + 1), at::kFloat)};
      at::_fused_adam_(view(reference.exact.data()), view(reference.gradient.data()),
                       view(reference.states[0].floats()), view(reference.states[1].floats()), none,
                       count, s.lr, o.beta1, o.beta2, p.decay ? o.weight_decay : 0.0, o.eps, false,
                       false);
    }
  }
  CHECK(largest_difference(f, f.exact, {reference.exact.begin(), reference.exact.end()}, 1e-1) <=
        1e-5);
}

}  // namespace adam_test
