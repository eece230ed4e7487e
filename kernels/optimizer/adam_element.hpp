// What Adam does to one element, for the kernel, the reference and the CPU.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/optimizer/adam.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include <tuple>

namespace trainx::kernels {

struct AdamRule {
  using Settings = AdamSettings;
  using States = std::tuple<float, float>;  // exp_avg, exp_avg_sq

  /// Constants of one step, rounded as torch.optim.Adam rounds them.
  struct Step {
    bool finite;  // else nothing is updated
    float gradient_factor, weight_decay;
    float one_minus_beta1, beta2, one_minus_beta2;
    float minus_step_size;   // -lr / (1 - beta1^t)
    float sqrt_correction2;  // sqrt(1 - beta2^t)
    float eps;
  };

  TRAINX_HOST_DEVICE static Step step(const UpdateScalars& scalars, const AdamSettings& o) {
    const UpdateScale scale = update_scale(scalars, o.scale);
    const double t = static_cast<double>(scale.applied_steps + 1);
    Step s;
    s.finite = scale.finite;
    s.gradient_factor = scale.gradient_factor;
    s.weight_decay = static_cast<float>(o.weight_decay);
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
    const float g =
        sum(product(gradient, s.gradient_factor), product(decays ? s.weight_decay : 0.0f, weight));
    const float m = sum(state[0], product(s.one_minus_beta1, sum(g, -state[0])));  // torch's lerp
    const float v = sum(product(state[1], s.beta2), product(product(s.one_minus_beta2, g), g));
    const float denominator = sum(quotient(square_root(v), s.sqrt_correction2), s.eps);
    state[0] = m;
    state[1] = v;
    weight = sum(weight, quotient(product(s.minus_step_size, m), denominator));
  }
};

}  // namespace trainx::kernels
