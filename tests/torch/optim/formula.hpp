// An optimizer beside its formula, which a test writes out in double, and beside LibTorch's own
// step.
#pragma once
#include "group_fixture.hpp"
#include <cstdint>

namespace trainx::optim {

/// What a step of a formula sees.
struct FormulaStep {
  double t = 0;  // 1, 2, ...
  double lr = 0;
  double factor = 0;  // of the gradient: its scale and clipping
};

inline StepScalars scalars_of(const GroupFixture& f, std::int64_t applied) {
  StepScalars s;
  s.norm2 = squared_norm(f.group, f.gradient.data());
  s.gradient_scale = 1.25;
  s.applied_steps = applied;
  s.lr = 1e-2 * (1 + static_cast<double>(applied % 7));
  s.max_grad_norm = applied % 2 ? 0.5 : 0;
  return s;
}
inline FormulaStep formula_step(const StepScalars& s) {
  const double norm = std::sqrt(s.norm2) * s.gradient_scale;
  return {static_cast<double>(s.applied_steps + 1), s.lr,
          s.gradient_scale *
              (s.max_grad_norm > 0 ? std::min(1.0, s.max_grad_norm / (norm + 1e-6)) : 1.0)};
}

/// 50 steps of the optimizer and of `formula(step, parameter, i, gradient, weight)` on each
/// element; the weights after them.
template <class Formula>
std::vector<double> follow(GroupFixture& f, const Optimizer& optimizer, Formula formula,
                           unsigned seed) {
  std::vector<double> w(f.exact.begin(), f.exact.end());
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(seed * 100 + step);
    const StepScalars s = scalars_of(f, step);
    optimizer.update(f.memory(), s);
    for (const auto& p : f.group.parameters)
      for (auto i = static_cast<std::size_t>(p.offset);
           i < static_cast<std::size_t>(p.offset + p.elements()); ++i) {
        const FormulaStep now = formula_step(s);
        formula(now, p, i, f.gradient[i] * now.factor, w[i]);
      }
  }
  return w;
}

/// The same for a formula over whole tensors: `formula(step, parameter, index of it, gradients,
/// weights)`, elements from the tensor's first.
template <class Formula>
std::vector<double> follow_tensors(GroupFixture& f, const Optimizer& optimizer, Formula formula,
                                   unsigned seed) {
  std::vector<double> w(f.exact.begin(), f.exact.end());
  for (unsigned step = 0; step < 50; ++step) {
    f.new_gradient(seed * 100 + step);
    const StepScalars s = scalars_of(f, step);
    optimizer.update(f.memory(), s);
    for (std::size_t k = 0; k < f.group.parameters.size(); ++k) {
      const auto& p = f.group.parameters[k];
      const FormulaStep now = formula_step(s);
      std::vector<double> g(static_cast<std::size_t>(p.elements()));
      for (std::size_t i = 0; i < g.size(); ++i)
        g[i] = f.gradient[static_cast<std::size_t>(p.offset) + i] * now.factor;
      formula(now, p, k, g, &w[static_cast<std::size_t>(p.offset)]);
    }
  }
  return w;
}

/// The largest |got - want| / (scale + |want|) over the tensors; infinite where one is NaN.
inline double largest_difference(const GroupFixture& f, const std::vector<float>& got,
                                 const std::vector<double>& want, double scale = 1) {
  double largest = 0;
  for (std::size_t i = 0; i < f.used.size(); ++i) {
    if (!f.used[i]) continue;
    const double d = std::abs(static_cast<double>(got[i]) - want[i]) / (scale + std::abs(want[i]));
    if (!(d <= largest)) largest = std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  }
  return largest;
}

}  // namespace trainx::optim
