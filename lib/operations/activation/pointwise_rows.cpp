#include "operations/activation/pointwise_rows.hpp"
#include "core/error.hpp"
#include "operations/activation/pointwise_value.hpp"

namespace trainx::operations {

namespace {

template <class T>
TRAINX_INLINE void activate_row_of(Activation f, T* y, const T* x, std::int64_t n) {
  with_activation(
      f, [&]<Activation a>() __attribute__((always_inline)) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) store(y[i], value_and_slope<a>(load(x[i])).value);
      });
}

template <class T>
TRAINX_INLINE void activate_row_backward_of(Activation f, T* dx, const T* dy, const T* x,
                                            std::int64_t n) {
  with_activation(
      f, [&]<Activation a>() __attribute__((always_inline)) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i)
          store(dx[i], load(dy[i]) * value_and_slope<a>(load(x[i])).slope);
      });
}

template <class T>
TRAINX_INLINE void gate_row_of(Activation f, T* y, const T* gate, const T* up, std::int64_t n) {
  with_activation(
      f, [&]<Activation a>() __attribute__((always_inline)) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i)
          store(y[i], value_and_slope<a>(load(gate[i])).value * load(up[i]));
      });
}

template <class T>
TRAINX_INLINE void gate_row_backward_of(Activation f, T* d_gate, T* d_up, const T* d, const T* gate,
                                        const T* up, std::int64_t n) {
  with_activation(
      f, [&]<Activation a>() __attribute__((always_inline)) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) {
          const ValueAndSlope at = value_and_slope<a>(load(gate[i]));
          const float by = load(d[i]);
          store(d_gate[i], by * at.slope * load(up[i]));
          store(d_up[i], by * at.value);
        }
      });
}

}  // namespace

void require_function(Activation f) {
  if (f == Activation::none) throw InternalError("no function to compute");
}

TRAINX_CLONES void activate_row(Activation f, float* y, const float* x, std::int64_t n) {
  activate_row_of(f, y, x, n);
}
TRAINX_CLONES void activate_row(Activation f, Bf16* y, const Bf16* x, std::int64_t n) {
  activate_row_of(f, y, x, n);
}
TRAINX_CLONES void activate_row(Activation f, Fp16* y, const Fp16* x, std::int64_t n) {
  activate_row_of(f, y, x, n);
}

TRAINX_CLONES void activate_row_backward(Activation f, float* dx, const float* dy, const float* x,
                                         std::int64_t n) {
  activate_row_backward_of(f, dx, dy, x, n);
}
TRAINX_CLONES void activate_row_backward(Activation f, Bf16* dx, const Bf16* dy, const Bf16* x,
                                         std::int64_t n) {
  activate_row_backward_of(f, dx, dy, x, n);
}
TRAINX_CLONES void activate_row_backward(Activation f, Fp16* dx, const Fp16* dy, const Fp16* x,
                                         std::int64_t n) {
  activate_row_backward_of(f, dx, dy, x, n);
}

TRAINX_CLONES void gate_row(Activation f, float* y, const float* gate, const float* up,
                            std::int64_t n) {
  gate_row_of(f, y, gate, up, n);
}
TRAINX_CLONES void gate_row(Activation f, Bf16* y, const Bf16* gate, const Bf16* up,
                            std::int64_t n) {
  gate_row_of(f, y, gate, up, n);
}
TRAINX_CLONES void gate_row(Activation f, Fp16* y, const Fp16* gate, const Fp16* up,
                            std::int64_t n) {
  gate_row_of(f, y, gate, up, n);
}

TRAINX_CLONES void gate_row_backward(Activation f, float* d_gate, float* d_up, const float* d,
                                     const float* gate, const float* up, std::int64_t n) {
  gate_row_backward_of(f, d_gate, d_up, d, gate, up, n);
}
TRAINX_CLONES void gate_row_backward(Activation f, Bf16* d_gate, Bf16* d_up, const Bf16* d,
                                     const Bf16* gate, const Bf16* up, std::int64_t n) {
  gate_row_backward_of(f, d_gate, d_up, d, gate, up, n);
}
TRAINX_CLONES void gate_row_backward(Activation f, Fp16* d_gate, Fp16* d_up, const Fp16* d,
                                     const Fp16* gate, const Fp16* up, std::int64_t n) {
  gate_row_backward_of(f, d_gate, d_up, d, gate, up, n);
}

}  // namespace trainx::operations
