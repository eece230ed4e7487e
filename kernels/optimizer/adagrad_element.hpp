// What Adagrad does to one element, for the kernel, the reference and the CPU.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/optimizer/adagrad.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include <tuple>

namespace trainx::kernels {

struct AdagradRule {
  using Settings = AdagradSettings;
  using States = std::tuple<float>;  // sum of squares

  struct Step {
    bool finite;  // else nothing is updated
    float gradient_factor, weight_decay;
    float minus_lr;  // -lr / (1 + applied steps * lr_decay)
    float eps;
  };

  TRAINX_HOST_DEVICE static Step step(const UpdateScalars& scalars, const AdagradSettings& o) {
    const UpdateScale scale = update_scale(scalars, o.scale);
    const double slower = sum(1.0, product(static_cast<double>(scale.applied_steps), o.lr_decay));
    return {scale.finite, scale.gradient_factor, static_cast<float>(o.weight_decay),
            static_cast<float>(-scale.lr / slower), static_cast<float>(o.eps)};
  }

  TRAINX_HOST_DEVICE static void element(const Step& s, bool decays, float gradient, float& weight,
                                         float* state) {
    const float g =
        sum(product(gradient, s.gradient_factor), product(decays ? s.weight_decay : 0.0f, weight));
    state[0] = sum(state[0], product(g, g));
    weight = sum(weight, quotient(product(s.minus_lr, g), sum(square_root(state[0]), s.eps)));
  }
};

}  // namespace trainx::kernels
