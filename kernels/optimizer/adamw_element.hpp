// What AdamW does to one element, for the kernel and the reference.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/optimizer/adamw.hpp"

namespace trainx::kernels {

struct Fp32Weights {
  float* exact;
  TRAINX_HOST_DEVICE explicit Fp32Weights(const AdamWRange& r) : exact(static_cast<float*>(r.parameter)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const { exact[i] = x; }
};

struct Bf16Weights {
  Bf16* rounded;
  TRAINX_HOST_DEVICE explicit Bf16Weights(const AdamWRange& r) : rounded(static_cast<Bf16*>(r.parameter)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return widened(rounded[i]); }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const { rounded[i] = nearest_weight(x); }
};

struct MasterWeights {
  Bf16* rounded;
  float* exact;
  TRAINX_HOST_DEVICE explicit MasterWeights(const AdamWRange& r) : rounded(static_cast<Bf16*>(r.parameter)), exact(static_cast<float*>(r.master)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const {
    exact[i] = x;
    rounded[i] = nearest_weight(x);
  }
};

struct SplitWeights {
  Bf16* rounded;
  std::uint16_t* low;
  TRAINX_HOST_DEVICE explicit SplitWeights(const AdamWRange& r) : rounded(static_cast<Bf16*>(r.parameter)), low(static_cast<std::uint16_t*>(r.master)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return joined(rounded[i], low[i]); }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const {
    rounded[i] = nearest_weight(x);
    low[i] = low_bits(x);
  }
};

/// Constants of one step, rounded as torch.optim.AdamW rounds them.
struct AdamWStep {
  bool finite;                          // else nothing is updated
  float gradient_factor;
  float decay;                          // 1 - lr * weight_decay
  float one_minus_beta1, beta2, one_minus_beta2;
  float minus_step_size;                // -lr / (1 - beta1^t)
  float sqrt_correction2;               // sqrt(1 - beta2^t)
  float eps;
};

TRAINX_HOST_DEVICE AdamWStep adamw_step(const AdamWScalars& scalars, const AdamWSettings& o) {
  AdamWStep s;
  const std::int64_t applied = *scalars.applied_steps;
  const double lr = scalars.lr_table[applied < scalars.lr_entries ? applied : scalars.lr_entries - 1];
  const double t = static_cast<double>(applied + 1);
  const double scale = *scalars.target_count > 0 ? o.nominal_targets / *scalars.target_count : 0;   // a step without targets has no gradient, and counts
  const double norm = product(std::sqrt(*scalars.norm2), scale);
  s.finite = std::isfinite(norm);
  const double clip = o.max_grad_norm > 0 ? o.max_grad_norm / sum(norm, 1e-6) : 1.0;
  s.gradient_factor = static_cast<float>(product(scale, clip < 1.0 ? clip : 1.0));
  s.decay = static_cast<float>(sum(1.0, -product(lr, o.weight_decay)));
  s.one_minus_beta1 = static_cast<float>(1 - o.beta1);
  s.beta2 = static_cast<float>(o.beta2);
  s.one_minus_beta2 = static_cast<float>(1 - o.beta2);
  s.minus_step_size = static_cast<float>(-lr / (1 - std::pow(o.beta1, t)));
  s.sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(o.beta2, t)));
  s.eps = static_cast<float>(o.eps);
  return s;
}

/// `weight`, `m` and `v` of one element in and out.
TRAINX_HOST_DEVICE void adamw_element(const AdamWStep& s, bool decays, float gradient, float& weight, float& m, float& v) {
  const float g = product(gradient, s.gradient_factor);
  const float w = decays ? product(weight, s.decay) : weight;
  m = sum(m, product(s.one_minus_beta1, sum(g, -m)));
  v = sum(product(v, s.beta2), product(product(s.one_minus_beta2, g), g));
  const float denominator = sum(quotient(square_root(v), s.sqrt_correction2), s.eps);
  weight = sum(w, quotient(product(s.minus_step_size, m), denominator));
}

}  // namespace trainx::kernels
