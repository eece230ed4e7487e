#include "operations/common/element.hpp"
#include "operations/norm/residual.hpp"
#include "operations/norm/row_statistics.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>

namespace trainx::operations {

namespace {

template <class T>
TRAINX_INLINE void add(T* out, const T* residual, const T* branch, const T* bias,
                       const float* factors, std::int64_t n) {
  if (factors) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      store(out[i], load(residual[i]) + (load(branch[i]) + load(bias[i])) * factors[i]);
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      store(out[i], load(residual[i]) + (load(branch[i]) + load(bias[i])));
  }
}
TRAINX_CLONES void add_row(float* o, const float* r, const float* b, const float* bias,
                           const float* f, std::int64_t n) {
  add(o, r, b, bias, f, n);
}
TRAINX_CLONES void add_row(Bf16* o, const Bf16* r, const Bf16* b, const Bf16* bias, const float* f,
                           std::int64_t n) {
  add(o, r, b, bias, f, n);
}
TRAINX_CLONES void add_row(Fp16* o, const Fp16* r, const Fp16* b, const Fp16* bias, const float* f,
                           std::int64_t n) {
  add(o, r, b, bias, f, n);
}

/// normed[n] (fp32) = norm of a part of a row.
template <class T>
TRAINX_INLINE void norm(float* normed, const T* x, RowStatistics row, const T* weight,
                        const T* bias, std::int64_t n) {
  const float m = row.mean, s = row.rstd;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    normed[i] = (load(x[i]) - m) * s * load(weight[i]) + load(bias[i]);
}
TRAINX_CLONES void norm_piece(float* y, const float* x, RowStatistics row, const float* w,
                              const float* b, std::int64_t n) {
  norm(y, x, row, w, b, n);
}
TRAINX_CLONES void norm_piece(float* y, const Bf16* x, RowStatistics row, const Bf16* w,
                              const Bf16* b, std::int64_t n) {
  norm(y, x, row, w, b, n);
}
TRAINX_CLONES void norm_piece(float* y, const Fp16* x, RowStatistics row, const Fp16* w,
                              const Fp16* b, std::int64_t n) {
  norm(y, x, row, w, b, n);
}
TRAINX_CLONES RowStatistics statistics_of(const float* row, std::int64_t columns, double epsilon) {
  return row_statistics(row, columns, epsilon);
}
TRAINX_CLONES RowStatistics statistics_of(const Bf16* row, std::int64_t columns, double epsilon) {
  return row_statistics(row, columns, epsilon);
}
TRAINX_CLONES RowStatistics statistics_of(const Fp16* row, std::int64_t columns, double epsilon) {
  return row_statistics(row, columns, epsilon);
}

/// out = normed (fp32) + (branch + bias) * factors
template <class T>
TRAINX_INLINE void add_to_normed(T* out, const float* normed, const T* branch, const T* bias,
                                 const float* factors, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    store(out[i], normed[i] + (load(branch[i]) + load(bias[i])) * (factors ? factors[i] : 1.0f));
}
TRAINX_CLONES void add_piece(float* o, const float* r, const float* b, const float* bias,
                             const float* f, std::int64_t n) {
  add_to_normed(o, r, b, bias, f, n);
}
TRAINX_CLONES void add_piece(Bf16* o, const float* r, const Bf16* b, const Bf16* bias,
                             const float* f, std::int64_t n) {
  add_to_normed(o, r, b, bias, f, n);
}
TRAINX_CLONES void add_piece(Fp16* o, const float* r, const Fp16* b, const Fp16* bias,
                             const float* f, std::int64_t n) {
  add_to_normed(o, r, b, bias, f, n);
}

constexpr std::int64_t piece = 512;  // elements of a row for which factors exist at once

}  // namespace

void add_branch(const Tensor& out, const Tensor& residual, const Tensor& branch, const Tensor& bias,
                const Dropout& dropout) {
  add_branch_to_norm(out, residual, {}, branch, bias, dropout);
}

void add_branch_to_norm(const Tensor& out, const Tensor& residual, const PendingNorm& pending,
                        const Tensor& branch, const Tensor& bias, const Dropout& dropout,
                        const Tensor& rows) {
  const std::int64_t count = out.size(0), columns = out.size(1);
  const auto* named = rows.defined() ? data<std::int64_t>(rows) : nullptr;
  with_element(out, [&]<class T>(T) {
    T* o = data<T>(out);
    const T *all = data<T>(residual), *b = data<T>(branch), *shift = data<T>(bias);
    tensor::parallel_for(0, count, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      float factors[piece], normed[piece];
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t row = named ? named[r] : r;
        const T* x = all + row * columns;
        const RowStatistics statistics = pending ? statistics_of(x, columns, pending.epsilon)
                                                 : RowStatistics{};
        for (std::int64_t c = 0; c < columns; c += piece) {
          const std::int64_t n = std::min(piece, columns - c), from = row * columns + c,
                             to = r * columns + c;
          if (dropout) dropout_factors(dropout, row, columns, c, n, factors);
          const float* f = dropout ? factors : nullptr;
          if (pending) {
            norm_piece(normed, x + c, statistics, data<T>(pending.weight) + c,
                       data<T>(pending.bias) + c, n);
            add_piece(o + to, normed, b + from, shift + c, f, n);
          } else {
            add_row(o + to, all + from, b + from, shift + c, f, n);
          }
        }
      }
    });
  });
}

}  // namespace trainx::operations
