// What AnyPrecisionAdamW does to one element, for the kernel, the reference and the CPU.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/optimizer/adamw_anyprecision.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include <tuple>

namespace trainx::kernels {

template <class T>
TRAINX_HOST_DEVICE float rounded_to(float x) {
  T y;
  narrow(x, y);
  return widened(y);
}

template <class Momentum, class Variance, bool kahan>
struct AnyPrecisionRule {
  using Settings = AnyPrecisionSettings;
  // exp_avg, exp_avg_sq, compensation
  using States = std::conditional_t<kahan, std::tuple<Momentum, Variance, Bf16>,
                                    std::tuple<Momentum, Variance>>;

  struct Step {
    bool finite;  // else nothing is updated
    float gradient_factor;
    float minus_decay;  // -lr * weight_decay
    float decay;        // 1 - lr * weight_decay
    float beta1, one_minus_beta1, beta2, one_minus_beta2;
    float minus_step_size;   // -lr / (1 - beta1^t)
    float sqrt_correction2;  // sqrt(1 - beta2^t)
    float eps;
  };

  TRAINX_HOST_DEVICE static Step step(const UpdateScalars& scalars, const AnyPrecisionSettings& o) {
    const UpdateScale scale = update_scale(scalars, o.scale);
    const double t = static_cast<double>(scale.applied_steps + 1);
    Step s;
    s.finite = scale.finite;
    s.gradient_factor = scale.gradient_factor;
    s.minus_decay = static_cast<float>(-product(scale.lr, o.weight_decay));
    s.decay = static_cast<float>(sum(1.0, -product(scale.lr, o.weight_decay)));
    s.beta1 = static_cast<float>(o.beta1);
    s.one_minus_beta1 = static_cast<float>(1 - o.beta1);
    s.beta2 = static_cast<float>(o.beta2);
    s.one_minus_beta2 = static_cast<float>(1 - o.beta2);
    s.minus_step_size = static_cast<float>(-scale.lr / (1 - std::pow(o.beta1, t)));
    s.sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(o.beta2, t)));
    s.eps = static_cast<float>(o.eps);
    return s;
  }

  TRAINX_HOST_DEVICE static void element(const Step& s, bool decays, float gradient, float& weight,
                                         float* state) {
    const float g = product(gradient, s.gradient_factor);
    const float m = rounded_to<Momentum>(
        sum(rounded_to<Momentum>(product(state[0], s.beta1)), product(s.one_minus_beta1, g)));
    const float v = rounded_to<Variance>(sum(rounded_to<Variance>(product(state[1], s.beta2)),
                                             product(product(s.one_minus_beta2, g), g)));
    state[0] = m;
    state[1] = v;
    const float update = quotient(product(s.minus_step_size, m),
                                  sum(quotient(square_root(v), s.sqrt_correction2), s.eps));
    if constexpr (kahan) {
      const float before = weight,
                  owed = rounded_to<Bf16>(
                      sum(sum(state[2], decays ? product(s.minus_decay, before) : 0.0f), update));
      weight = widened(nearest_weight(sum(before, owed)));
      state[2] = sum(owed, sum(before, -weight));
    } else {
      weight = sum(decays ? product(weight, s.decay) : weight, update);
    }
  }
};

}  // namespace trainx::kernels
