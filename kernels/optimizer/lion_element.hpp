// What Lion does to one element, for the kernel, the reference and the CPU.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/optimizer/lion.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include <tuple>

namespace trainx::kernels {

struct LionRule {
  using Settings = LionSettings;
  using States = std::tuple<float>;  // exp_avg

  struct Step {
    bool finite;  // else nothing is updated
    float gradient_factor;
    float decay;  // 1 - lr * weight_decay
    float minus_lr;
    float beta1, one_minus_beta1, beta2, one_minus_beta2;
  };

  TRAINX_HOST_DEVICE static Step step(const UpdateScalars& scalars, const LionSettings& o) {
    const UpdateScale scale = update_scale(scalars, o.scale);
    Step s;
    s.finite = scale.finite;
    s.gradient_factor = scale.gradient_factor;
    s.decay = static_cast<float>(sum(1.0, -product(scale.lr, o.weight_decay)));
    s.minus_lr = static_cast<float>(-scale.lr);
    s.beta1 = static_cast<float>(o.beta1);
    s.one_minus_beta1 = static_cast<float>(1 - o.beta1);
    s.beta2 = static_cast<float>(o.beta2);
    s.one_minus_beta2 = static_cast<float>(1 - o.beta2);
    return s;
  }

  TRAINX_HOST_DEVICE static void element(const Step& s, bool decays, float gradient, float& weight,
                                         float* state) {
    const float g = product(gradient, s.gradient_factor), m = state[0];
    const float direction = sum(product(m, s.beta1), product(s.one_minus_beta1, g));
    const float w = decays ? product(weight, s.decay) : weight;
    // of its sign alone
    weight = sum(w, direction > 0 ? s.minus_lr : direction < 0 ? -s.minus_lr : 0.0f);
    state[0] = sum(product(m, s.beta2), product(s.one_minus_beta2, g));
  }
};

}  // namespace trainx::kernels
