#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include "formula.hpp"
#include "support/catch.hpp"

namespace adagrad_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

TEST_CASE("adagrad equals its formula in double over 50 steps") {
  const options::AdagradOptions o = GENERATE(options::AdagradOptions{},
                                             options::AdagradOptions{0.1, 0, 1e-10, 0.1},
                                             options::AdagradOptions{0, 0.5, 1e-6, 0});
  const std::int64_t n = GENERATE(1, 127, 128, 129, 20003);
  GroupFixture f(n, o, DType::f32, Master::absent, 43);
  std::vector<double> sum(f.exact.size(), o.initial_accumulator_value);
  // Duchi et al. 2011, the diagonal form; lr_decay, eps and weight decay as torch.optim.Adagrad has
  // them.
  const auto want = follow(
      f, *make_optimizer(o),
      [&](const FormulaStep& s, const auto& p, std::size_t i, double gradient, double& w) {
        const double g = gradient + (p.decay ? o.weight_decay * w : 0);
        sum[i] += g * g;
        w -= s.lr / (1 + (s.t - 1) * o.lr_decay) * g / (std::sqrt(sum[i]) + o.eps);
      },
      43);
  CHECK(largest_difference(f, f.exact, want) <= 1e-5);
  CHECK(f.gaps_untouched());
}

TEST_CASE("adagrad equals LibTorch's fused step") {
  const options::AdagradOptions o{0.01, 0.1, 1e-10, 0.1};
  GroupFixture f(5001, o, DType::f32, Master::absent, 7), reference = f;
  const auto adagrad = make_optimizer(o);
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(700 + step);
    reference.gradient = f.gradient;
    StepScalars s;
    s.norm2 = 1;
    s.lr = 1e-2;
    s.applied_steps = step;
    adagrad->update(f.memory(), s);
    for (const auto& p : reference.group.parameters) {
      const auto view = [&](float* all) {
        return std::vector<at::Tensor>{at::from_blob(all + p.offset, {p.dims[0]}, at::kFloat)};
      };
      const std::vector<at::Tensor> count{at::full({}, static_cast<float>(step + 1), at::kFloat)};
      at::_fused_adagrad_(view(reference.exact.data()), view(reference.gradient.data()),
                          view(reference.states[0].floats()), count, s.lr, o.lr_decay,
                          p.decay ? o.weight_decay : 0.0, o.eps, false);
    }
  }
  CHECK(largest_difference(f, f.exact, {reference.exact.begin(), reference.exact.end()}, 1e-1) <=
        1e-5);
}

}  // namespace adagrad_test
