// What SGD does to one element, for the kernel and the reference.
#pragma once
#include "kernels/optimizer/sgd.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include <tuple>

namespace trainx::kernels {

enum class SgdForm { plain, momentum, nesterov };

template <SgdForm form>
struct SgdRule {
  using Settings = SgdSettings;
  // the velocity
  using States = std::conditional_t<form == SgdForm::plain, std::tuple<>, std::tuple<float>>;

  struct Step {
    bool finite;  // else nothing is updated
    float gradient_factor, weight_decay, momentum, minus_lr;
  };

  TRAINX_HOST_DEVICE static Step step(const UpdateScalars& scalars, const SgdSettings& o) {
    const UpdateScale scale = update_scale(scalars, o.scale);
    return {scale.finite, scale.gradient_factor, static_cast<float>(o.weight_decay),
            static_cast<float>(o.momentum), static_cast<float>(-scale.lr)};
  }

  TRAINX_HOST_DEVICE static void element(const Step& s, bool decays, float gradient, float& weight,
                                         float* state) {
    float d =
        sum(product(gradient, s.gradient_factor), product(decays ? s.weight_decay : 0.0f, weight));
    if constexpr (form != SgdForm::plain) {
      // of zeros in the first step: the gradient itself, as torch.optim.SGD starts
      const float v = sum(product(state[0], s.momentum), d);
      state[0] = v;
      d = form == SgdForm::nesterov ? sum(d, product(s.momentum, v)) : v;
    }
    weight = sum(weight, product(s.minus_lr, d));
  }
};

}  // namespace trainx::kernels
