#include "ops/element.hpp"
#include "ops/residual.hpp"
#include <ATen/Parallel.h>
#include <algorithm>

namespace trainx::ops {

namespace {

template <class T>
TRAINX_INLINE void add(T* out, const T* residual, const T* branch, const T* bias, const float* factors, std::int64_t n) {
  if (factors) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) store(out[i], load(residual[i]) + (load(branch[i]) + load(bias[i])) * factors[i]);
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) store(out[i], load(residual[i]) + (load(branch[i]) + load(bias[i])));
  }
}
TRAINX_CLONES void add_row(float* o, const float* r, const float* b, const float* bias, const float* f, std::int64_t n) { add(o, r, b, bias, f, n); }
TRAINX_CLONES void add_row(Bf16* o, const Bf16* r, const Bf16* b, const Bf16* bias, const float* f, std::int64_t n) { add(o, r, b, bias, f, n); }

}  // namespace

void add_branch(const at::Tensor& out, const at::Tensor& residual, const at::Tensor& branch, const at::Tensor& bias, const Dropout& dropout) {
  const std::int64_t rows = out.size(0), columns = out.size(1);
  with_element(out, [&]<class T>(T) {
    T* o = data<T>(out);
    const T *r = data<T>(residual), *b = data<T>(branch), *shift = data<T>(bias);
    at::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t piece = 512;
      float factors[piece];
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t c = 0; c < columns; c += piece) {
          const std::int64_t n = std::min(piece, columns - c), at = row * columns + c;
          if (dropout) dropout_factors(dropout, row, columns, c, n, factors);
          add_row(o + at, r + at, b + at, shift + c, dropout ? factors : nullptr, n);
        }
    });
  });
}

}  // namespace trainx::ops
