// What AdamW does to one element, for the kernel and the reference.
#pragma once
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/update_scale.hpp"
#include <tuple>

namespace trainx::kernels {

/// For all numbers; kernels may have others, which give the same bits where they say so.
struct AnyNumbers {
  struct Divisor {
    float b;
    TRAINX_HOST_DEVICE float of(float a) const { return quotient(a, b); }
  };
  static TRAINX_HOST_DEVICE float ratio(float a, float b) { return quotient(a, b); }
  static TRAINX_HOST_DEVICE float root(float x) { return square_root(x); }
};

struct AdamWRule {
  using Settings = AdamWSettings;
  using States = std::tuple<float, float>;  // exp_avg, exp_avg_sq

  /// Constants of one step, rounded as torch.optim.AdamW rounds them.
  struct Step {
    bool finite;  // else nothing is updated
    float gradient_factor;
    float decay;  // 1 - lr * weight_decay
    float one_minus_beta1, beta2, one_minus_beta2;
    float minus_step_size;   // -lr / (1 - beta1^t)
    float sqrt_correction2;  // sqrt(1 - beta2^t)
    float eps;
  };

  TRAINX_HOST_DEVICE static Step step(const UpdateScalars& scalars, const AdamWSettings& o) {
    const UpdateScale scale = update_scale(scalars, o.scale);
    const double t = static_cast<double>(scale.applied_steps + 1);
    Step s;
    s.finite = scale.finite;
    s.gradient_factor = scale.gradient_factor;
    s.decay = static_cast<float>(sum(1.0, -product(scale.lr, o.weight_decay)));
    s.one_minus_beta1 = static_cast<float>(1 - o.beta1);
    s.beta2 = static_cast<float>(o.beta2);
    s.one_minus_beta2 = static_cast<float>(1 - o.beta2);
    s.minus_step_size = static_cast<float>(-scale.lr / (1 - std::pow(o.beta1, t)));
    s.sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(o.beta2, t)));
    s.eps = static_cast<float>(o.eps);
    return s;
  }

  /// `weight` and the states m and v of one element in and out.
  TRAINX_HOST_DEVICE static void element(const Step& s, bool decays, float gradient, float& weight,
                                         float* state) {
    element(s, decays, gradient, weight, state[0], state[1]);
  }
  template <class Numbers = AnyNumbers>
  TRAINX_HOST_DEVICE static void element(const Step& s, bool decays, float gradient, float& weight,
                                         float& m, float& v) {
    const float g = product(gradient, s.gradient_factor);
    const float w = decays ? product(weight, s.decay) : weight;
    m = sum(m, product(s.one_minus_beta1, sum(g, -m)));
    v = sum(product(v, s.beta2), product(product(s.one_minus_beta2, g), g));
    const float denominator = sum(Numbers::ratio(Numbers::root(v), s.sqrt_correction2), s.eps);
    weight = sum(w, Numbers::ratio(product(s.minus_step_size, m), denominator));
  }
};

}  // namespace trainx::kernels
