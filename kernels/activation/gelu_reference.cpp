#include "kernels/activation/gelu.hpp"
#include <vector>

namespace trainx::kernels {
namespace {

struct Cdf {
  double cdf, slope;
};  // gelu(x) = x cdf, gelu'(x) = cdf + x slope
Cdf cdf_of(double x, GeluKind kind) {
  if (kind == GeluKind::erf)
    return {std::erfc(-x / std::sqrt(2.0)) / 2, std::exp(-x * x / 2) / std::sqrt(2 * M_PI)};
  const double a = std::sqrt(2 / M_PI), u = a * (x + 0.044715 * x * x * x),
               s = 1 / (1 + std::exp(-2 * u));
  return {s, s * (1 / (1 + std::exp(2 * u))) * 2 * a * (1 + 3 * 0.044715 * x * x)};
}

template <class T>
void forward(T* out, const T* pre, std::int64_t elements, GeluKind kind) {
  for (std::int64_t i = 0; i < elements; ++i)
    narrow(static_cast<float>(widened(pre[i]) * cdf_of(widened(pre[i]), kind).cdf), out[i]);
}

template <class T>
void backward(const GeluBackward<T>& op, GeluKind kind) {
  std::vector<double> sums(static_cast<std::size_t>(op.columns));
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::int64_t i = r * op.columns + c;
      const double x = widened(op.pre[i]);
      const Cdf at = cdf_of(x, kind);
      narrow(static_cast<float>(widened(op.d_out[i]) * (at.cdf + x * at.slope)), op.d_pre[i]);
      sums[c] += widened(op.d_pre[i]);
    }
  if (op.d_bias)
    for (std::int64_t c = 0; c < op.columns; ++c)
      op.d_bias[c] = static_cast<float>(op.accumulate ? op.d_bias[c] + sums[c] : sums[c]);
}

}  // namespace

void gelu_reference(float* out, const float* pre, std::int64_t elements, GeluKind kind) {
  forward(out, pre, elements, kind);
}
void gelu_reference(Bf16* out, const Bf16* pre, std::int64_t elements, GeluKind kind) {
  forward(out, pre, elements, kind);
}
void gelu_reference(Fp16* out, const Fp16* pre, std::int64_t elements, GeluKind kind) {
  forward(out, pre, elements, kind);
}
void gelu_backward_reference(const GeluBackward<float>& op, GeluKind kind) { backward(op, kind); }
void gelu_backward_reference(const GeluBackward<Bf16>& op, GeluKind kind) { backward(op, kind); }
void gelu_backward_reference(const GeluBackward<Fp16>& op, GeluKind kind) { backward(op, kind); }

}  // namespace trainx::kernels
