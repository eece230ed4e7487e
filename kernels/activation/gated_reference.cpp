#include "kernels/activation/gated.hpp"
#include "kernels/activation/value_and_slope_reference.hpp"

namespace trainx::kernels {

template <class T>
void gated_reference(const Gated<T>& op, ActivationKind kind) {
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const T* const gate = op.x + 2 * r * op.columns + c;
      narrow(static_cast<float>(exact_value_and_slope(kind, widened(*gate)).value *
                                widened(gate[op.columns])),
             op.out[r * op.columns + c]);
    }
}

template <class T>
void gated_backward_reference(const GatedBackward<T>& op, ActivationKind kind) {
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::int64_t at = 2 * r * op.columns + c;
      const double d = widened(op.d_out[r * op.columns + c]), up = widened(op.x[at + op.columns]);
      const ExactValueAndSlope f = exact_value_and_slope(kind, widened(op.x[at]));
      narrow(static_cast<float>(d * f.slope * up), op.d_x[at]);
      narrow(static_cast<float>(d * f.value), op.d_x[at + op.columns]);
    }
}

template void gated_reference(const Gated<float>&, ActivationKind);
template void gated_reference(const Gated<Bf16>&, ActivationKind);
template void gated_reference(const Gated<Fp16>&, ActivationKind);
template void gated_backward_reference(const GatedBackward<float>&, ActivationKind);
template void gated_backward_reference(const GatedBackward<Bf16>&, ActivationKind);
template void gated_backward_reference(const GatedBackward<Fp16>&, ActivationKind);

}  // namespace trainx::kernels
