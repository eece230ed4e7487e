#include "ops/element.hpp"
#include "ops/embedding.hpp"
#include <ATen/Parallel.h>
#include <algorithm>
#include <string>

namespace trainx::ops {

namespace {

template <class T>
TRAINX_INLINE void add(T* out, const T* a, const T* b, const float* factors, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(out[i], (load(a[i]) + load(b[i])) * (factors ? factors[i] : 1.0f));
}
TRAINX_CLONES void add_rows(float* out, const float* a, const float* b, const float* f, std::int64_t n) { add(out, a, b, f, n); }
TRAINX_CLONES void add_rows(Bf16* out, const Bf16* a, const Bf16* b, const float* f, std::int64_t n) { add(out, a, b, f, n); }

template <class T>
TRAINX_INLINE void accumulate_row(float* sum, const T* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) sum[i] += load(x[i]);
}
TRAINX_CLONES void add_to(float* sum, const float* x, std::int64_t n) { accumulate_row(sum, x, n); }
TRAINX_CLONES void add_to(float* sum, const Bf16* x, std::int64_t n) { accumulate_row(sum, x, n); }

}  // namespace

void embedding(const at::Tensor& out, const at::Tensor& tokens, const at::Tensor& wte, const at::Tensor& wpe, const Dropout& dropout) {
  const std::int64_t rows = out.size(0), columns = out.size(1), length = tokens.size(1), vocabulary = wte.size(0);
  const auto* token = data<std::int32_t>(tokens);
  for (std::int64_t r = 0; r < rows; ++r)
    if (token[r] < 0 || token[r] >= vocabulary) throw InternalError("embedding: token id " + std::to_string(token[r]) + " outside the vocabulary");
  with_element(out, [&]<class T>(T) {
    at::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t piece = 512;
      float factors[piece];
      for (std::int64_t r = begin; r < end; ++r)
        for (std::int64_t c = 0; c < columns; c += piece) {
          const std::int64_t n = std::min(piece, columns - c);
          if (dropout) dropout_factors(dropout, r, columns, c, n, factors);
          add_rows(data<T>(out) + r * columns + c, data<T>(wte) + token[r] * columns + c, data<T>(wpe) + (r % length) * columns + c, dropout ? factors : nullptr, n);
        }
    });
  });
}

void embedding_backward_tokens(const at::Tensor& d_wte, const at::Tensor& d, const at::Tensor& tokens, bool accumulate) {
  const std::int64_t rows = d.size(0), columns = d.size(1);
  const auto* token = data<std::int32_t>(tokens);
  auto* sums = data<float>(d_wte);
  if (!accumulate) std::fill_n(sums, d_wte.numel(), 0.0f);
  // Each thread takes columns of all rows: a token that occurs twice is added up in the order of rows, without atomics.
  constexpr std::int64_t strip = 32;
  with_element(d, [&]<class T>(T) {
    at::parallel_for(0, (columns + strip - 1) / strip, 1, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t first = begin * strip, n = std::min(columns, end * strip) - first;
      for (std::int64_t r = 0; r < rows; ++r) add_to(sums + token[r] * columns + first, data<T>(d) + r * columns + first, n);
    });
  });
}

void embedding_backward_positions(const at::Tensor& d_wpe, const at::Tensor& d, std::int64_t length, bool accumulate) {
  const std::int64_t rows = d.size(0), columns = d.size(1);
  auto* sums = data<float>(d_wpe);
  if (!accumulate) std::fill_n(sums, d_wpe.numel(), 0.0f);
  with_element(d, [&]<class T>(T) {
    at::parallel_for(0, length, 1 + row_grain(columns) * length / rows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = 0; r < rows; r += length)
        for (std::int64_t t = begin; t < end; ++t) add_to(sums + t * columns, data<T>(d) + (r + t) * columns, columns);
    });
  });
}

}  // namespace trainx::ops
