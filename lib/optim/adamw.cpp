#include "optim/group_update.hpp"
#include "optim/adamw.hpp"
#include "optim/step_factor.hpp"
#include <cmath>

namespace trainx::optim {
namespace {

/// Constants of one step, as torch.optim.AdamW rounds them.
struct AdamWStep {
  float gradient_factor;
  float decay;  // 1 - lr * weight_decay; 1 for a tensor that does not decay
  float one_minus_beta1, beta2, one_minus_beta2;
  float minus_step_size;   // -lr / (1 - beta1^t)
  float sqrt_correction2;  // sqrt(1 - beta2^t)
  float eps;
};

template <class Weights, class Gradient>
TRAINX_OPTIM_INLINE void update(Weights weights, const Gradient* gradient, float* exp_avg,
                                float* exp_avg_sq, const AdamWStep& step, std::int64_t n) {
  const AdamWStep s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = kernels::widened(gradient[i]) * s.gradient_factor;
    const float w = weights.load(i) * s.decay;
    const float m = exp_avg[i] + s.one_minus_beta1 * (g - exp_avg[i]);  // torch's lerp
    const float v = exp_avg_sq[i] * s.beta2 + s.one_minus_beta2 * g * g;
    const float denominator = std::sqrt(v) / s.sqrt_correction2 + s.eps;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    weights.store(i, w + s.minus_step_size * m / denominator);
  }
}

#define TRAINX_UPDATE_OF(Weights, Gradient)                                                 \
  TRAINX_OPTIM_CLONES void update_chunk(Weights w, const Gradient* g, float* const* states, \
                                        const AdamWStep& step, std::int64_t n) {            \
    update(w, g, states[0], states[1], step, n);                                            \
  }
#define TRAINX_UPDATE(Weights)     \
  TRAINX_UPDATE_OF(Weights, float) \
  TRAINX_UPDATE_OF(Weights, kernels::Bf16)
TRAINX_UPDATE(Fp32Weights)
TRAINX_UPDATE(Bf16Weights)
TRAINX_UPDATE(StochasticWeights)
TRAINX_UPDATE(MasterWeights)
TRAINX_UPDATE(SplitWeights)
TRAINX_UPDATE(HalfWeights)
#undef TRAINX_UPDATE
#undef TRAINX_UPDATE_OF

}  // namespace

void AdamW::update(const GroupMemory& memory, const StepScalars& scalars) const {
  const auto factor = step_factor(scalars);
  if (!factor) return;
  const auto t = static_cast<double>(scalars.applied_steps + 1);
  AdamWStep step{};
  step.gradient_factor = *factor;
  step.one_minus_beta1 = static_cast<float>(1 - options_.beta1);
  step.beta2 = static_cast<float>(options_.beta2);
  step.one_minus_beta2 = static_cast<float>(1 - options_.beta2);
  step.minus_step_size = static_cast<float>(-scalars.lr / (1 - std::pow(options_.beta1, t)));
  step.sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(options_.beta2, t)));
  step.eps = static_cast<float>(options_.eps);
  const auto decay = static_cast<float>(1 - scalars.lr * options_.weight_decay);
  update_group(memory, scalars.applied_steps, 2,
               [&](auto weights, const auto* gradient, float* const* states, const Chunk& chunk) {
                 AdamWStep of_chunk = step;
                 of_chunk.decay = chunk.decay ? decay : 1.0f;
                 update_chunk(weights, gradient, states, of_chunk, chunk.elements);
               });
}

}  // namespace trainx::optim
