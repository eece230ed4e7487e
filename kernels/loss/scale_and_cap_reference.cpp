#include "kernels/loss/scale_and_cap.hpp"
#include "kernels/loss/changed_logit_reference.hpp"

namespace trainx::kernels {

template <class T>
void scale_and_cap_reference(const ScaleAndCap<T>& op) {
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.vocab_size; ++c) {
      T& logit = op.logits[r * op.columns + c];
      narrow(static_cast<float>(exactly_changed(widened(logit), op.change).value), logit);
    }
}

template void scale_and_cap_reference(const ScaleAndCap<float>&);
template void scale_and_cap_reference(const ScaleAndCap<Bf16>&);
template void scale_and_cap_reference(const ScaleAndCap<Fp16>&);

}  // namespace trainx::kernels
