#pragma once
#include "kernels/bits.hpp"
#include "kernels/fold_memory.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// d_table[V, C] = or += the sums of d[N, C] over the rows of each token; rows of tokens that do
/// not occur become 0, or stay as they are.
template <class T>
struct EmbeddingBackward {
  std::int64_t rows = 0, columns = 0;    // N below 2^31, C
  std::int64_t vocab_size = 0;           // V
  const T* d = nullptr;                  // gradient of the embeddings, dropout applied
  const std::int32_t* tokens = nullptr;  // [N], each below V, or without_gradient
  float* d_table = nullptr;
  bool accumulate = false;
  std::int64_t without_gradient = -1;  // a token that learns nothing
};

/// d_table[P, C] = or += the sums of d[N, C] over the samples, by the place in the sample; rows
/// from `length` on become 0, or stay as they are. With document_starts by the place in the
/// document, without padding.
template <class T>
struct PositionBackward {
  // N, C, rows of a sample; N a multiple of `length`
  std::int64_t rows = 0, columns = 0, length = 1;
  std::int64_t positions = 0;  // P >= length
  const T* d = nullptr;
  float* d_table = nullptr;
  bool accumulate = false;
  // [N]: where in the sample a token's document begins; -1: padding
  const std::int32_t* document_starts = nullptr;
  std::int64_t first_row = 0;  // with them: where in its sample row 0 lies
};

/// In fp32. The rows of a token are added in their order, piece by piece, wherever the token
/// occurs: repeats are bit-equal. NaN carries through. Pointers need their element's alignment; 16
/// bytes, with C a multiple of 8, are faster. The references compute in double precision. Of tables
/// with few rows, each of which many tokens name (token types), type_embedding_backward does the
/// same faster; V at most 64.
void embedding_backward_reference(const EmbeddingBackward<float>& op);
void embedding_backward_reference(const EmbeddingBackward<Bf16>& op);
void embedding_backward_reference(const EmbeddingBackward<Fp16>& op);
void position_backward_reference(const PositionBackward<float>& op);
void position_backward_reference(const PositionBackward<Bf16>& op);
void position_backward_reference(const PositionBackward<Fp16>& op);
/// Of `scratch` (16-byte aligned, may hold anything), and of FoldMemory::partial.
std::int64_t embedding_backward_scratch_bytes(std::int64_t rows, std::int64_t columns);
std::int64_t document_position_backward_scratch_bytes(std::int64_t rows, std::int64_t columns);
std::int64_t type_embedding_backward_partial_bytes(std::int64_t columns);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; several launches, the status of which is returned.
cudaError_t embedding_backward(const EmbeddingBackward<float>& op, void* scratch,
                               cudaStream_t stream);
cudaError_t embedding_backward(const EmbeddingBackward<Bf16>& op, void* scratch,
                               cudaStream_t stream);
cudaError_t embedding_backward(const EmbeddingBackward<Fp16>& op, void* scratch,
                               cudaStream_t stream);
cudaError_t type_embedding_backward(const EmbeddingBackward<float>& op, const FoldMemory& memory,
                                    cudaStream_t stream);
cudaError_t type_embedding_backward(const EmbeddingBackward<Bf16>& op, const FoldMemory& memory,
                                    cudaStream_t stream);
cudaError_t type_embedding_backward(const EmbeddingBackward<Fp16>& op, const FoldMemory& memory,
                                    cudaStream_t stream);
cudaError_t position_backward(const PositionBackward<float>& op, cudaStream_t stream);
cudaError_t position_backward(const PositionBackward<Bf16>& op, cudaStream_t stream);
cudaError_t position_backward(const PositionBackward<Fp16>& op, cudaStream_t stream);
/// With document_starts: the rows of a position, wherever it occurs, are added as those of a token
/// are.
cudaError_t document_position_backward(const PositionBackward<float>& op, void* scratch,
                                       cudaStream_t stream);
cudaError_t document_position_backward(const PositionBackward<Bf16>& op, void* scratch,
                                       cudaStream_t stream);
cudaError_t document_position_backward(const PositionBackward<Fp16>& op, void* scratch,
                                       cudaStream_t stream);
#endif

}  // namespace trainx::kernels
