#include "kernels/experts/expert_bias.hpp"

namespace trainx::kernels {

template <class T>
void expert_bias_reference(const ExpertBias<T>& op) {
  const GroupedSizes& s = op.sizes;
  for (std::int64_t e = 0; e < s.experts; ++e)
    for (std::int64_t r = s.offsets[e]; r < s.offsets[e + 1]; ++r)
      for (std::int64_t c = 0; c < s.out; ++c) {
        T& y = op.y[r * s.out + c];
        narrow(widened(y) + widened(op.bias[e * s.out + c]), y);
      }
}

template <class T>
void expert_bias_gradient_reference(const ExpertBiasGradient<T>& op) {
  const GroupedSizes& s = op.sizes;
  for (std::int64_t e = 0; e < s.experts; ++e)
    for (std::int64_t c = 0; c < s.out; ++c) {
      float& to = op.d_bias[e * s.out + c];
      double sum = op.accumulate ? static_cast<double>(to) : 0;
      for (std::int64_t r = s.offsets[e]; r < s.offsets[e + 1]; ++r)
        sum += static_cast<double>(widened(op.dy[r * s.out + c]));
      to = static_cast<float>(sum);
    }
}

#define TRAINX_EXPERT_BIAS(T)                                \
  template void expert_bias_reference(const ExpertBias<T>&); \
  template void expert_bias_gradient_reference(const ExpertBiasGradient<T>&);
TRAINX_EXPERT_BIAS(float)
TRAINX_EXPERT_BIAS(Bf16)
TRAINX_EXPERT_BIAS(Fp16)
#undef TRAINX_EXPERT_BIAS

}  // namespace trainx::kernels
