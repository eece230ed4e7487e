#include "operations/common/element.hpp"
#include "operations/embedding/embedding.hpp"
#include <algorithm>
#include <string>
#include "operations/embedding/embedding_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations {

namespace {

template <class T>
TRAINX_INLINE void add(T* out, const T* a, const T* b, const float* factors, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    store(out[i], (load(a[i]) + load(b[i])) * (factors ? factors[i] : 1.0f));
}
TRAINX_CLONES void add_rows(float* out, const float* a, const float* b, const float* f,
                            std::int64_t n) {
  add(out, a, b, f, n);
}
TRAINX_CLONES void add_rows(Bf16* out, const Bf16* a, const Bf16* b, const float* f,
                            std::int64_t n) {
  add(out, a, b, f, n);
}
TRAINX_CLONES void add_rows(Fp16* out, const Fp16* a, const Fp16* b, const float* f,
                            std::int64_t n) {
  add(out, a, b, f, n);
}

template <class T>
TRAINX_INLINE void accumulate_row(float* sum, const T* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) sum[i] += load(x[i]);
}
TRAINX_CLONES void add_to(float* sum, const float* x, std::int64_t n) { accumulate_row(sum, x, n); }
TRAINX_CLONES void add_to(float* sum, const Bf16* x, std::int64_t n) { accumulate_row(sum, x, n); }
TRAINX_CLONES void add_to(float* sum, const Fp16* x, std::int64_t n) { accumulate_row(sum, x, n); }

template <class T>
TRAINX_INLINE void add_three(T* out, const T* a, const T* b, const T* c, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) store(out[i], load(a[i]) + load(b[i]) + load(c[i]));
}
TRAINX_CLONES void sum_rows(float* out, const float* a, const float* b, const float* c,
                            std::int64_t n) {
  add_three(out, a, b, c, n);
}
TRAINX_CLONES void sum_rows(Bf16* out, const Bf16* a, const Bf16* b, const Bf16* c,
                            std::int64_t n) {
  add_three(out, a, b, c, n);
}
TRAINX_CLONES void sum_rows(Fp16* out, const Fp16* a, const Fp16* b, const Fp16* c,
                            std::int64_t n) {
  add_three(out, a, b, c, n);
}

void check_ids(const Tensor& ids, std::int64_t limit, const char* what) {
  const auto* id = data<std::int32_t>(ids);
  for (std::int64_t i = 0; i < ids.numel(); ++i)
    if (id[i] < 0 || id[i] >= limit)
      throw InternalError(std::string("embedding: ") + what + " " + std::to_string(id[i]) +
                          ", of which there are " + std::to_string(limit));
}

/// Each thread takes columns of all rows, so that a position that occurs twice is added up in the
/// order of rows.
void add_by_position(float* sums, const Tensor& d, const DocumentStarts& starts,
                     std::int64_t length) {
  const auto* const start = data<std::int32_t>(starts.of_rows);
  const std::int64_t rows = d.size(0), columns = d.size(1);
  constexpr std::int64_t tile = 32;
  with_element(d, [&]<class T>(T) {
    tensor::parallel_for(
        0, (columns + tile - 1) / tile, 1, [&](std::int64_t begin, std::int64_t end) {
          const std::int64_t first = begin * tile, n = std::min(columns, end * tile) - first;
          for (std::int64_t r = 0; r < rows; ++r)
            if (start[r] >= 0)
              add_to(sums + starts.position(r, length) * columns + first,
                     data<T>(d) + r * columns + first, n);
        });
  });
}

}  // namespace

void cpu::segment_embedding(const Tensor& out, const Tensor& tokens, const Tensor& token_types,
                            const Tensor& word, const Tensor& position, const Tensor& type) {
  const TimedWork timed(Work::embedding);
  const std::int64_t rows = out.size(0), columns = out.size(1), length = tokens.size(1);
  check_ids(tokens, word.size(0), "token id");
  check_ids(token_types, type.size(0), "token type");
  const auto *token = data<std::int32_t>(tokens), *segment = data<std::int32_t>(token_types);
  with_element(out, [&]<class T>(T) {
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        sum_rows(data<T>(out) + r * columns, data<T>(word) + token[r] * columns,
                 data<T>(position) + (r % length) * columns, data<T>(type) + segment[r] * columns,
                 columns);
    });
  });
}

void cpu::embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
                    const Dropout& dropout, const DocumentStarts& document_starts) {
  const TimedWork timed(Work::embedding);
  const std::int64_t rows = out.size(0), columns = out.size(1), length = tokens.size(1);
  const auto* token = data<std::int32_t>(tokens);
  check_ids(tokens, wte.size(0), "token id");
  with_element(out, [&]<class T>(T) {
    tensor::parallel_for(0, rows, row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t piece = 512;
      float factors[piece];
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t position =
            document_starts.defined() ? document_starts.position(r, length) : r % length;
        for (std::int64_t c = 0; c < columns; c += piece) {
          const std::int64_t n = std::min(piece, columns - c);
          if (dropout) dropout_factors(dropout, r, columns, c, n, factors);
          add_rows(data<T>(out) + r * columns + c, data<T>(wte) + token[r] * columns + c,
                   data<T>(wpe) + position * columns + c, dropout ? factors : nullptr, n);
        }
      }
    });
  });
}

void cpu::embedding_backward_tokens(const Tensor& d_wte, const Tensor& d, const Tensor& tokens,
                                    bool accumulate, std::int64_t without_gradient) {
  const TimedWork timed(Work::embedding);
  const std::int64_t rows = d.size(0), columns = d.size(1);
  const auto* token = data<std::int32_t>(tokens);
  auto* sums = data<float>(d_wte);
  if (!accumulate) std::fill_n(sums, d_wte.numel(), 0.0f);
  // Each thread takes columns of all rows: a token that occurs twice is added up in the order of
  // rows, without atomics.
  constexpr std::int64_t tile = 32;
  with_element(d, [&]<class T>(T) {
    tensor::parallel_for(
        0, (columns + tile - 1) / tile, 1, [&](std::int64_t begin, std::int64_t end) {
          const std::int64_t first = begin * tile, n = std::min(columns, end * tile) - first;
          for (std::int64_t r = 0; r < rows; ++r)
            if (token[r] != without_gradient)
              add_to(sums + token[r] * columns + first, data<T>(d) + r * columns + first, n);
        });
  });
}

void cpu::embedding_backward_positions(const Tensor& d_wpe, const Tensor& d, std::int64_t length,
                                       bool accumulate, const DocumentStarts& document_starts) {
  const TimedWork timed(Work::embedding);
  const std::int64_t rows = d.size(0), columns = d.size(1);
  auto* sums = data<float>(d_wpe);
  if (!accumulate) std::fill_n(sums, d_wpe.numel(), 0.0f);
  if (document_starts.defined()) return add_by_position(sums, d, document_starts, length);
  with_element(d, [&]<class T>(T) {
    tensor::parallel_for(0, length, 1 + row_grain(columns) * length / rows,
                         [&](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t r = 0; r < rows; r += length)
                             for (std::int64_t t = begin; t < end; ++t)
                               add_to(sums + t * columns, data<T>(d) + (r + t) * columns, columns);
                         });
  });
}

}  // namespace trainx::operations
