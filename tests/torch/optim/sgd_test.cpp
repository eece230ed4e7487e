#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/from_blob.h>
#include "core/error.hpp"
#include "group_fixture.hpp"
#include "support/catch.hpp"

namespace sgd_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

const options::SgdOptions forms[] = {
    {0, false, 0}, {0, false, 0.1}, {0.9, false, 0}, {0.9, false, 0.1}, {0.9, true, 0.1}};

}  // namespace

TEST_CASE("sgd equals its formula in double over 50 steps") {
  const options::SgdOptions o = forms[GENERATE(0, 1, 2, 3, 4)];
  const std::int64_t n = GENERATE(1, 127, 128, 129, 100003);
  const unsigned seed = 3 + static_cast<unsigned>(n);
  GroupFixture f(n, o.momentum > 0 ? 1 : 0, DType::f32, Master::absent, seed);
  const auto sgd = make_optimizer(o);
  std::vector<double> w(f.exact.begin(), f.exact.end()), v(w.size());
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(seed * 100 + step);
    StepScalars s;
    s.norm2 = squared_norm(f.group, f.gradient.data());
    s.gradient_scale = 0.75;
    s.lr = 1e-2 / (1 + step);
    s.max_grad_norm = step % 3 ? 0.2 : 0;
    sgd->update(f.memory(), s);
    const double norm = std::sqrt(s.norm2) * s.gradient_scale;
    const double factor = s.gradient_scale * (s.max_grad_norm > 0
                                                  ? std::min(1.0, s.max_grad_norm / (norm + 1e-6))
                                                  : 1.0);
    for (const auto& p : f.group.parameters)
      for (auto i = static_cast<std::size_t>(p.offset);
           i < static_cast<std::size_t>(p.offset + p.dims[0]); ++i) {
        const double d = f.gradient[i] * factor + (p.decay ? o.weight_decay * w[i] : 0);
        v[i] = o.momentum * v[i] + d;
        w[i] -= s.lr * (o.nesterov ? d + o.momentum * v[i] : v[i]);
      }
  }
  for (std::size_t i = 0; i < f.used.size(); ++i)
    if (f.used[i] && !(std::abs(f.exact[i] - w[i]) <= 1e-6 * (1 + std::abs(w[i]))))
      FAIL("n " << n << " element " << i << ": " << f.exact[i] << " instead of " << w[i]);
  CHECK(f.gaps_untouched());
}

TEST_CASE("sgd equals LibTorch's fused step") {
  const options::SgdOptions o = forms[GENERATE(0, 1, 2, 3, 4)];
  GroupFixture f(5001, o.momentum > 0 ? 1 : 0, DType::f32, Master::absent, 11);
  GroupFixture reference = f;
  const auto sgd = make_optimizer(o);
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(1100 + step);
    reference.gradient = f.gradient;
    StepScalars s;
    s.norm2 = 1;
    s.lr = 3e-3;
    sgd->update(f.memory(), s);
    for (const auto& p : reference.group.parameters) {
      const auto view = [&](float* all) {
        return std::vector<at::Tensor>{at::from_blob(all + p.offset, {p.dims[0]}, at::kFloat)};
      };
      at::_fused_sgd_(
          view(reference.exact.data()), view(reference.gradient.data()),
          o.momentum > 0 ? view(reference.states[0].floats()) : std::vector<at::Tensor>{},
          p.decay ? o.weight_decay : 0.0, o.momentum, s.lr, 0.0, o.nesterov, false, step == 0);
    }
  }
  for (std::size_t i = 0; i < f.used.size(); ++i)
    if (f.used[i] && !(std::abs(f.exact[i] - reference.exact[i]) <=
                       1e-6f * (std::abs(reference.exact[i]) + 1e-1f)))
      FAIL("element " << i << ": " << f.exact[i] << " instead of " << reference.exact[i]);
}

TEST_CASE("nesterov without momentum and wrong numbers of states are broken promises") {
  CHECK_THROWS_AS(make_optimizer(options::SgdOptions{0, true, 0}), InternalError);
  GroupFixture f(10, 2, DType::f32, Master::absent, 1);
  CHECK_THROWS_AS(make_optimizer(options::SgdOptions{})->update(f.memory(), StepScalars{}),
                  InternalError);
  GroupMemory odd = GroupFixture(10, 0, DType::bf16, Master::split, 1).memory();
  odd.master = nullptr;
  CHECK_THROWS_AS(make_optimizer(options::SgdOptions{})->update(odd, StepScalars{}), InternalError);
}

}  // namespace sgd_test
