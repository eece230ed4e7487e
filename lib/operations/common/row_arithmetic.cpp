#include "operations/common/row_arithmetic.hpp"

namespace trainx::operations {

namespace {

template <class T>
TRAINX_INLINE void read_row_of(float* to, const T* from, std::int64_t n) {
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) to[c] = load(from[c]);
}

template <class T>
TRAINX_INLINE void write_row_of(T* to, const float* from, std::int64_t n) {
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) store(to[c], from[c]);
}

template <class T>
TRAINX_INLINE void add_scaled_row_of(float* to, const T* from, float by, std::int64_t n) {
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) to[c] += by * load(from[c]);
}

template <class T>
TRAINX_INLINE void scale_row_of(T* to, const T* from, float by, std::int64_t n) {
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) store(to[c], by * load(from[c]));
}

template <class T>
TRAINX_INLINE float dot_of_rows_of(const T* a, const T* b, std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < n; ++c) sum += load(a[c]) * load(b[c]);
  return sum;
}

}  // namespace

TRAINX_CLONES void read_row(float* to, const float* from, std::int64_t n) {
  read_row_of(to, from, n);
}
TRAINX_CLONES void read_row(float* to, const Bf16* from, std::int64_t n) {
  read_row_of(to, from, n);
}
TRAINX_CLONES void read_row(float* to, const Fp16* from, std::int64_t n) {
  read_row_of(to, from, n);
}

TRAINX_CLONES void write_row(float* to, const float* from, std::int64_t n) {
  write_row_of(to, from, n);
}
TRAINX_CLONES void write_row(Bf16* to, const float* from, std::int64_t n) {
  write_row_of(to, from, n);
}
TRAINX_CLONES void write_row(Fp16* to, const float* from, std::int64_t n) {
  write_row_of(to, from, n);
}

TRAINX_CLONES void add_scaled_row(float* to, const float* from, float by, std::int64_t n) {
  add_scaled_row_of(to, from, by, n);
}
TRAINX_CLONES void add_scaled_row(float* to, const Bf16* from, float by, std::int64_t n) {
  add_scaled_row_of(to, from, by, n);
}
TRAINX_CLONES void add_scaled_row(float* to, const Fp16* from, float by, std::int64_t n) {
  add_scaled_row_of(to, from, by, n);
}

TRAINX_CLONES void scale_row(float* to, const float* from, float by, std::int64_t n) {
  scale_row_of(to, from, by, n);
}
TRAINX_CLONES void scale_row(Bf16* to, const Bf16* from, float by, std::int64_t n) {
  scale_row_of(to, from, by, n);
}
TRAINX_CLONES void scale_row(Fp16* to, const Fp16* from, float by, std::int64_t n) {
  scale_row_of(to, from, by, n);
}

TRAINX_CLONES float dot_of_rows(const float* a, const float* b, std::int64_t n) {
  return dot_of_rows_of(a, b, n);
}
TRAINX_CLONES float dot_of_rows(const Bf16* a, const Bf16* b, std::int64_t n) {
  return dot_of_rows_of(a, b, n);
}
TRAINX_CLONES float dot_of_rows(const Fp16* a, const Fp16* b, std::int64_t n) {
  return dot_of_rows_of(a, b, n);
}

}  // namespace trainx::operations
