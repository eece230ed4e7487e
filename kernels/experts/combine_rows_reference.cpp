#include "kernels/experts/combine_rows.hpp"
#include <cmath>

namespace trainx::kernels {
namespace {

template <class T>
double row_element(const T* x, std::int64_t i) {
  return static_cast<double>(widened(x[i]));
}

template <class T>
double opened(const CombineRows<T>& op, std::int64_t n) {
  return op.gate ? 1 / (1 + std::exp(-row_element(op.gate, n))) : 1;
}

/// a[first_a + c] b[first_b + c], summed.
template <class T>
double row_dot(const T* a, std::int64_t first_a, const T* b, std::int64_t first_b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c)
    sum += row_element(a, first_a + c) * row_element(b, first_b + c);
  return sum;
}

}  // namespace

template <class T>
void combine_rows_reference(const CombineRows<T>& op) {
  const std::int64_t H = op.columns, k = op.per_token;
  for (std::int64_t n = 0; n < op.tokens; ++n)
    for (std::int64_t c = 0; c < H; ++c) {
      double sum = op.shared ? opened(op, n) * row_element(op.shared, n * H + c) : 0;
      for (std::int64_t i = n * k; i < (n + 1) * k; ++i)
        if (op.places[i] >= 0)
          sum += (op.weights ? static_cast<double>(op.weights[i]) : 1) *
                 row_element(op.rows, op.places[i] * H + c);
      narrow(static_cast<float>(sum), op.y[n * H + c]);
    }
}

template <class T>
void combine_rows_backward_reference(const CombineRowsBackward<T>& op) {
  const CombineRows<T>& of = op.of;
  const std::int64_t H = of.columns, k = of.per_token;
  for (std::int64_t n = 0; n < of.tokens; ++n) {
    for (std::int64_t i = n * k; i < (n + 1) * k; ++i) {
      if (of.places[i] < 0) {
        if (op.d_weights) op.d_weights[i] = 0;
        continue;
      }
      const std::int64_t row = of.places[i] * H;
      if (op.d_weights)
        op.d_weights[i] = static_cast<float>(row_dot(op.dy, n * H, of.rows, row, H));
      for (std::int64_t c = 0; op.d_rows && c < H; ++c)
        narrow((of.weights ? of.weights[i] : 1) * widened(op.dy[n * H + c]), op.d_rows[row + c]);
    }
    const double open = opened(of, n);
    if (op.d_gate)
      narrow(static_cast<float>(open * (1 - open) * row_dot(op.dy, n * H, of.shared, n * H, H)),
             op.d_gate[n]);
    for (std::int64_t c = 0; op.d_shared && c < H; ++c)
      narrow(static_cast<float>(open * row_element(op.dy, n * H + c)), op.d_shared[n * H + c]);
  }
}

#define TRAINX_COMBINE(T)                                      \
  template void combine_rows_reference(const CombineRows<T>&); \
  template void combine_rows_backward_reference(const CombineRowsBackward<T>&);
TRAINX_COMBINE(float)
TRAINX_COMBINE(Bf16)
TRAINX_COMBINE(Fp16)
#undef TRAINX_COMBINE

}  // namespace trainx::kernels
