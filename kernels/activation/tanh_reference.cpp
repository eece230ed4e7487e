#include "kernels/activation/tanh.hpp"
#include <cmath>
#include <vector>

namespace trainx::kernels {
namespace {

template <class T>
void forward(T* out, const T* pre, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i)
    narrow(static_cast<float>(std::tanh(static_cast<double>(widened(pre[i])))), out[i]);
}

template <class T>
void backward(const TanhBackward<T>& op) {
  std::vector<double> sums(static_cast<std::size_t>(op.columns));
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::int64_t i = r * op.columns + c;
      const double y = widened(op.out[i]);
      narrow(static_cast<float>(widened(op.d_out[i]) * (1 - y * y)), op.d_pre[i]);
      sums[static_cast<std::size_t>(c)] += widened(op.d_pre[i]);
    }
  if (op.d_bias)
    for (std::int64_t c = 0; c < op.columns; ++c)
      op.d_bias[c] = static_cast<float>((op.accumulate ? op.d_bias[c] : 0.0) +
                                        sums[static_cast<std::size_t>(c)]);
}

}  // namespace

void tanh_reference(float* out, const float* pre, std::int64_t elements) {
  forward(out, pre, elements);
}
void tanh_reference(Bf16* out, const Bf16* pre, std::int64_t elements) {
  forward(out, pre, elements);
}
void tanh_reference(Fp16* out, const Fp16* pre, std::int64_t elements) {
  forward(out, pre, elements);
}
void tanh_backward_reference(const TanhBackward<float>& op) { backward(op); }
void tanh_backward_reference(const TanhBackward<Bf16>& op) { backward(op); }
void tanh_backward_reference(const TanhBackward<Fp16>& op) { backward(op); }

}  // namespace trainx::kernels
