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

constexpr float inverse_sqrt_2 = 0.7071067811865476f, inverse_sqrt_2_pi = 0.3989422804014327f;

/// The normal distribution's P(X <= x) and density at x, with one exponential. erfc(z) = t (a1 +
/// ... + a5 t^4) exp(-z^2), t = 1 / (1 + p z), z >= 0, within 1.5e-7 (Abramowitz & Stegun
/// 1964, 7.1.26).
struct Normal {
  float below, density;
};
TRAINX_INLINE Normal normal_at(float x) {
  const float z = (x < 0 ? -x : x) * inverse_sqrt_2;
  const float e = exp_non_positive(-z * z);
  const float t = 1 / (1 + 0.3275911f * z);
  const float polynomial =
      t * (0.254829592f +
           t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float half_complement = 0.5f * polynomial * e;
  return {x < 0 ? half_complement : 1 - half_complement, inverse_sqrt_2_pi * e};
}

template <class T>
TRAINX_INLINE void forward(T* y, const T* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(y[i], load(x[i]) * normal_at(load(x[i])).below);
}
TRAINX_CLONES void forward_piece(float* y, const float* x, std::int64_t n) { forward(y, x, n); }
TRAINX_CLONES void forward_piece(Bf16* y, const Bf16* x, std::int64_t n) { forward(y, x, n); }
TRAINX_CLONES void forward_piece(Fp16* y, const Fp16* x, std::int64_t n) { forward(y, x, n); }

template <class T>
TRAINX_INLINE void backward(T* dx, const T* dy, const T* in, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = load(in[i]);
    const Normal normal = normal_at(x);
    store(dx[i], load(dy[i]) * (normal.below + x * normal.density));
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

constexpr std::int64_t grain = 16384;

}  // namespace

void cpu::gelu_erf(const Tensor& activated, const Tensor& x) {
  const TimedWork timed(Work::activation);
  with_element(x, [&]<class T>(T) {
    at::parallel_for(0, x.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      forward_piece(data<T>(activated) + begin, data<T>(x) + begin, end - begin);
    });
  });
}

void gelu_erf_backward(const Tensor& dx, const Tensor& d_activated, const Tensor& x) {
  with_element(x, [&]<class T>(T) {
    at::parallel_for(0, x.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      backward_piece(data<T>(dx) + begin, data<T>(d_activated) + begin, data<T>(x) + begin,
                     end - begin);
    });
  });
}

void cpu::gelu_erf_backward_with_bias(const Tensor& dx, const Tensor& d_bias,
                                      const Tensor& d_activated, const Tensor& x, bool accumulate) {
  const TimedWork timed(Work::activation);
  gelu_erf_backward(dx, d_activated, x);
  column_sum(d_bias, dx, accumulate);
}

}  // namespace trainx::operations
