// What LAMB does to one element, for the kernels and the reference.
#pragma once
#include "kernels/optimizer/lamb.hpp"
#include "kernels/optimizer/update_scale.hpp"

namespace trainx::kernels {

struct LambStep {
  bool finite;  // else nothing is updated
  float gradient_factor;
  float one_minus_beta1, beta2, one_minus_beta2;
  float correction1, sqrt_correction2;  // 1 - beta1^t, sqrt(1 - beta2^t)
  float eps, weight_decay, minus_lr;
};

TRAINX_HOST_DEVICE LambStep lamb_step(const UpdateScalars& scalars, const LambSettings& o) {
  const UpdateScale scale = update_scale(scalars, o.scale);
  const double t = static_cast<double>(scale.applied_steps + 1);
  LambStep s;
  s.finite = scale.finite;
  s.gradient_factor = scale.gradient_factor;
  s.one_minus_beta1 = static_cast<float>(1 - o.beta1);
  s.beta2 = static_cast<float>(o.beta2);
  s.one_minus_beta2 = static_cast<float>(1 - o.beta2);
  s.correction1 = static_cast<float>(1 - std::pow(o.beta1, t));
  s.sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(o.beta2, t)));
  s.eps = static_cast<float>(o.eps);
  s.weight_decay = static_cast<float>(o.weight_decay);
  s.minus_lr = static_cast<float>(-scale.lr);
  return s;
}

TRAINX_HOST_DEVICE void lamb_moments(const LambStep& s, float gradient, float& m, float& v) {
  const float g = product(gradient, s.gradient_factor);
  m = sum(m, product(s.one_minus_beta1, sum(g, -m)));
  v = sum(product(v, s.beta2), product(product(s.one_minus_beta2, g), g));
}

TRAINX_HOST_DEVICE float lamb_direction(const LambStep& s, bool decays, float weight, float m,
                                        float v) {
  const float adam = quotient(quotient(m, s.correction1),
                              sum(quotient(square_root(v), s.sqrt_correction2), s.eps));
  return sum(adam, product(decays ? s.weight_decay : 0.0f, weight));
}

TRAINX_HOST_DEVICE float lamb_ratio(double weights2, double directions2) {
  return weights2 > 0 && directions2 > 0
             ? static_cast<float>(std::sqrt(weights2) / std::sqrt(directions2))
             : 1.0f;
}

}  // namespace trainx::kernels
