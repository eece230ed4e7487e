#include "operations/common/element.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/common/exp.hpp"
#include "operations/activation/gelu.hpp"
#include <ATen/Parallel.h>
#include "operations/column_sum/column_sum.hpp"
#include "operations/activation/activation_backends.hpp"
#include "operations/common/timed_work.hpp"

namespace trainx::operations {

namespace {

// gelu(x) = x / 2 * (1 + tanh(u)) = x * s with s = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715
// x^3): one exponential, of -2 |u|.
constexpr float sqrt_2_over_pi = 0.7978845608028654f, cubic = 0.044715f;

struct Sigmoid {
  float s, slope;
};  // of 2 u, and its derivative by 2 u
TRAINX_INLINE Sigmoid sigmoid_of(float x) {
  const float u = sqrt_2_over_pi * (x + cubic * x * x * x);
  const float e = exp_non_positive(u < 0 ? 2 * u : -2 * u);
  const float inverse = 1 / (1 + e);
  return {u < 0 ? e * inverse : inverse, e * inverse * inverse};
}

template <class T>
TRAINX_INLINE void forward(T* y, const T* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(y[i], load(x[i]) * sigmoid_of(load(x[i])).s);
}
TRAINX_CLONES void forward_piece(float* y, const float* x, std::int64_t n) { forward(y, x, n); }
TRAINX_CLONES void forward_piece(Bf16* y, const Bf16* x, std::int64_t n) { forward(y, x, n); }
TRAINX_CLONES void forward_piece(Fp16* y, const Fp16* x, std::int64_t n) { forward(y, x, n); }

template <class T>
TRAINX_INLINE void backward(T* dx, const T* dy, const T* in, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = load(in[i]);
    const Sigmoid sigmoid = sigmoid_of(x);
    const float du = sqrt_2_over_pi * (1 + 3 * cubic * x * x);
    store(dx[i], load(dy[i]) * (sigmoid.s + x * sigmoid.slope * 2 * du));
  }
}
TRAINX_CLONES void backward_piece(float* dx, const float* dy, const float* x, std::int64_t n) {
  backward(dx, dy, x, n);
}
TRAINX_CLONES void backward_piece(Bf16* dx, const Bf16* dy, const Bf16* x, std::int64_t n) {
  backward(dx, dy, x, n);
}
TRAINX_CLONES void backward_piece(Fp16* dx, const Fp16* dy, const Fp16* x, std::int64_t n) {
  backward(dx, dy, x, n);
}

constexpr std::int64_t grain = 16384;  // elements that make starting a thread pay

}  // namespace

void cpu::gelu(const Tensor& activated, const Tensor& x) {
  const TimedWork timed(Work::activation);
  with_element(x, [&]<class T>(T) {
    at::parallel_for(0, x.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      forward_piece(data<T>(activated) + begin, data<T>(x) + begin, end - begin);
    });
  });
}

void gelu_backward(const Tensor& dx, const Tensor& d_activated, const Tensor& x) {
  with_element(x, [&]<class T>(T) {
    at::parallel_for(0, x.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      backward_piece(data<T>(dx) + begin, data<T>(d_activated) + begin, data<T>(x) + begin,
                     end - begin);
    });
  });
}

void cpu::gelu_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                                  const Tensor& x, bool accumulate) {
  const TimedWork timed(Work::activation);
  gelu_backward(dx, d_activated, x);
  column_sum(d_bias, dx, accumulate);
}

}  // namespace trainx::operations
