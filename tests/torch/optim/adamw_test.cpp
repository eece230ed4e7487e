#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include "formula.hpp"
#include "support/catch.hpp"

namespace adamw_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

const options::AdamWOptions settings{0.9, 0.95, 1e-8, 0.1};

// Loshchilov & Hutter 2019, Alg. 2, with the factors of clipping, in double.
struct Formula {
  std::vector<double> w, m, v;
  void step(const GroupFixture& f, const StepScalars& s) {
    const double t = static_cast<double>(s.applied_steps + 1),
                 norm = std::sqrt(s.norm2) * s.gradient_scale;
    const double factor = s.gradient_scale * (s.max_grad_norm > 0
                                                  ? std::min(1.0, s.max_grad_norm / (norm + 1e-6))
                                                  : 1.0);
    for (const auto& p : f.group.parameters)
      for (auto i = static_cast<std::size_t>(p.offset);
           i < static_cast<std::size_t>(p.offset + p.dims[0]); ++i) {
        const double g = f.gradient[i] * factor;
        m[i] = settings.beta1 * m[i] + (1 - settings.beta1) * g;
        v[i] = settings.beta2 * v[i] + (1 - settings.beta2) * g * g;
        const double m_hat = m[i] / (1 - std::pow(settings.beta1, t)),
                     v_hat = v[i] / (1 - std::pow(settings.beta2, t));
        w[i] -= s.lr * (m_hat / (std::sqrt(v_hat) + settings.eps) +
                        (p.decay ? settings.weight_decay * w[i] : 0));
      }
  }
};

}  // namespace

TEST_CASE("adamw equals its formula in double over 50 steps") {
  const std::int64_t n = GENERATE(1, 127, 128, 129, 100003);
  const unsigned seed = 20 + static_cast<unsigned>(n);
  GroupFixture f(n, 2, DType::f32, Master::absent, seed);
  const auto adamw = make_optimizer(settings);
  const std::vector<double> zeros(f.exact.size());
  Formula want{{f.exact.begin(), f.exact.end()}, zeros, zeros};
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(seed * 100 + step);
    const StepScalars s = scalars_of(f, step);
    adamw->update(f.memory(), s);
    want.step(f, s);
  }
  for (std::size_t i = 0; i < f.used.size(); ++i)
    if (f.used[i] && !(std::abs(f.exact[i] - want.w[i]) <= 1e-5 &&
                       std::abs(f.states[0][i] - want.m[i]) <= 1e-6 * (1 + std::abs(want.m[i])) &&
                       std::abs(f.states[1][i] - want.v[i]) <= 1e-5 * want.v[i]))
      FAIL("n " << n << " element " << i << ": " << f.exact[i] << " instead of " << want.w[i]);
  CHECK(f.gaps_untouched());
}

TEST_CASE("adamw equals LibTorch's fused step") {
  const unsigned seed = 7;
  GroupFixture f(5001, 2, DType::f32, Master::absent, seed);
  GroupFixture reference = f;
  const auto adamw = make_optimizer(settings);
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(seed * 100 + step);
    reference.gradient = f.gradient;
    StepScalars s;
    s.norm2 = 1;
    s.lr = 3e-3;
    s.applied_steps = step;
    adamw->update(f.memory(), s);
    for (const auto& p : reference.group.parameters) {
      const auto view = [&](float* all) {
        return std::vector<at::Tensor>{at::from_blob(all + p.offset, {p.dims[0]}, at::kFloat)};
      };
      // count of this step
      const std::vector<at::Tensor> none,
          count{at::full({}, static_cast<float>(step + 1), at::kFloat)};
      at::_fused_adamw_(view(reference.exact.data()), view(reference.gradient.data()),
                        view(reference.states[0].floats()), view(reference.states[1].floats()),
                        none, count, s.lr, settings.beta1, settings.beta2,
                        p.decay ? settings.weight_decay : 0.0, settings.eps, false, false);
    }
  }
  double largest = 0;
  for (std::size_t i = 0; i < f.used.size(); ++i) {
    if (!f.used[i]) continue;
    const double difference = std::abs(static_cast<double>(f.exact[i]) - reference.exact[i]) /
                              (std::abs(reference.exact[i]) + 1e-2);
    if (!(difference <= 2e-6))
      FAIL("element " << i << ": " << f.exact[i] << " instead of " << reference.exact[i]);
    largest = std::max(largest, difference);
  }
  INFO("largest difference " << largest);
  CHECK(largest < 2e-6);
}

}  // namespace adamw_test
