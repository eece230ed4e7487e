#include "kernels/activation/pointwise.hpp"
#include "kernels/activation/value_and_slope_reference.hpp"
#include <vector>

namespace trainx::kernels {

template <class T>
void pointwise_reference(T* out, const T* pre, std::int64_t elements, ActivationKind kind) {
  for (std::int64_t i = 0; i < elements; ++i)
    narrow(static_cast<float>(exact_value_and_slope(kind, widened(pre[i])).value), out[i]);
}

template <class T>
void pointwise_backward_reference(const PointwiseBackward<T>& op, ActivationKind kind) {
  std::vector<double> sums(static_cast<std::size_t>(op.columns));
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::int64_t i = r * op.columns + c;
      narrow(static_cast<float>(widened(op.d_out[i]) *
                                exact_value_and_slope(kind, widened(op.kept[i])).slope),
             op.d_pre[i]);
      sums[static_cast<std::size_t>(c)] += widened(op.d_pre[i]);
    }
  if (op.d_bias)
    for (std::int64_t c = 0; c < op.columns; ++c)
      op.d_bias[c] = static_cast<float>((op.accumulate ? op.d_bias[c] : 0.0) +
                                        sums[static_cast<std::size_t>(c)]);
}

template void pointwise_reference(float*, const float*, std::int64_t, ActivationKind);
template void pointwise_reference(Bf16*, const Bf16*, std::int64_t, ActivationKind);
template void pointwise_reference(Fp16*, const Fp16*, std::int64_t, ActivationKind);
template void pointwise_backward_reference(const PointwiseBackward<float>&, ActivationKind);
template void pointwise_backward_reference(const PointwiseBackward<Bf16>&, ActivationKind);
template void pointwise_backward_reference(const PointwiseBackward<Fp16>&, ActivationKind);

}  // namespace trainx::kernels
