#pragma once
#include "kernels/embedding/position_in_document.hpp"
#include "kernels/random/fused_dropout.hpp"
#include <cstdint>

namespace trainx::kernels {

/// out[N, C] = dropout(word[token] + position[row % length] + type[token type]); float, Bf16 or
/// Fp16. Memory of the device; for the reference, of the host.
template <class T>
struct Embedding {
  std::int64_t rows = 0, columns = 0, length = 1;  // N, C, rows of a sample
  const std::int32_t* tokens = nullptr;            // [N], each a row of `word`
  const std::int32_t* token_types = nullptr;       // [N], each a row of `type`; null with `type`
  const T* word = nullptr;
  const T* position = nullptr;  // at least `length` rows; null: none
  const T* type = nullptr;
  T* out = nullptr;
  // [N]: where in the sample a token's document begins, whose positions count from there, -1:
  // padding; null: 0 each
  const std::int32_t* document_starts = nullptr;
  std::int64_t first_row = 0;  // with them: where in its sample row 0 lies
  std::int64_t word_rows = 0;  // tokens from here on have no row and add nothing; 0: each has one
  bool scales_word = false;    // of scaled_embedding: the word alone is multiplied, not the sum
};

/// Added in fp32 from left to right, rounded once: the bits of the reference. Bytes of an element:
/// reads two T, the position's mostly from the cache, and writes one. FusedDropout::length
/// is that of the operands here. Pointers need their element's alignment; 16 bytes, with C a
/// multiple of 8, are faster.
void embedding_reference(const Embedding<float>& op, const FusedDropout& dropout);
void embedding_reference(const Embedding<Bf16>& op, const FusedDropout& dropout);
void embedding_reference(const Embedding<Fp16>& op, const FusedDropout& dropout);
/// The sum, or its word alone, is multiplied by `scale` before its dropout. T: float, Bf16 or Fp16.
template <class T>
void scaled_embedding_reference(const Embedding<T>& op, double scale, const FusedDropout& dropout);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t embedding(const Embedding<float>& op, const FusedDropout& dropout, cudaStream_t stream);
cudaError_t embedding(const Embedding<Bf16>& op, const FusedDropout& dropout, cudaStream_t stream);
cudaError_t embedding(const Embedding<Fp16>& op, const FusedDropout& dropout, cudaStream_t stream);
template <class T>
cudaError_t scaled_embedding(const Embedding<T>& op, double scale, const FusedDropout& dropout,
                             cudaStream_t stream);
#endif

}  // namespace trainx::kernels
