#include "optim/group_update.hpp"
#include "optim/sgd.hpp"
#include "optim/step_factor.hpp"

namespace trainx::optim {
namespace {

enum class Form { plain, momentum, nesterov };

struct SgdStep {
  float gradient_factor, weight_decay, momentum, minus_lr;
};

template <Form form, class Weights, class Gradient>
TRAINX_OPTIM_INLINE void update(Weights weights, const Gradient* gradient, float* velocity,
                                const SgdStep& step, std::int64_t n) {
  const SgdStep s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float w = weights.load(i);
    float d = kernels::widened(gradient[i]) * s.gradient_factor + s.weight_decay * w;
    if constexpr (form != Form::plain) {
      // of zeros in the first step: the gradient itself, as torch.optim.SGD starts
      const float v = velocity[i] * s.momentum + d;
      velocity[i] = v;
      d = form == Form::nesterov ? d + s.momentum * v : v;
    }
    weights.store(i, w + s.minus_lr * d);
  }
}

#define TRAINX_UPDATE_OF(Weights, Gradient)                                                       \
  TRAINX_OPTIM_CLONES void update_chunk(Weights w, const Gradient* g, float* velocity, Form form, \
                                        const SgdStep& step, std::int64_t n) {                    \
    if (form == Form::plain)                                                                      \
      update<Form::plain>(w, g, velocity, step, n);                                               \
    else if (form == Form::momentum)                                                              \
      update<Form::momentum>(w, g, velocity, step, n);                                            \
    else                                                                                          \
      update<Form::nesterov>(w, g, velocity, step, n);                                            \
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

Sgd::Sgd(const options::SgdOptions& options) : options_(options) {
  if (options.nesterov && !(options.momentum > 0))
    throw InternalError("nesterov without momentum passed the check of the recipe");
}

void Sgd::update(const GroupMemory& memory, const StepScalars& scalars) const {
  const auto factor = step_factor(scalars);
  if (!factor) return;
  const Form form = options_.nesterov       ? Form::nesterov
                    : options_.momentum > 0 ? Form::momentum
                                            : Form::plain;
  const SgdStep step{*factor, static_cast<float>(options_.weight_decay),
                     static_cast<float>(options_.momentum), static_cast<float>(-scalars.lr)};
  update_group(memory, scalars.applied_steps, form == Form::plain ? 0 : 1,
               [&](auto weights, const auto* gradient, float* const* states, const Chunk& chunk) {
                 SgdStep of_chunk = step;
                 if (!chunk.decay) of_chunk.weight_decay = 0;
                 update_chunk(weights, gradient, states[0], form, of_chunk, chunk.elements);
               });
}

}  // namespace trainx::optim
