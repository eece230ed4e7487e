#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include "kernels/fold_memory.hpp"
#include <cstdint>

namespace trainx::kernels {

/// A norm of queries and one of keys (Dehghani et al. 2023, arXiv:2302.05442), which with values
/// are columns of rows of C = (query_heads + 2 * key_value_heads) * head_size elements; values are
/// copied. A group of elements that is normed is a head, or all queries (all keys) of a row: G =
/// query_heads + key_value_heads, or 2.
struct HeadNormShape {
  std::int64_t rows = 0;  // N
  std::int64_t query_heads = 1, key_value_heads = 1, head_size = 1;
  bool whole = false;  // a group is all queries, or all keys
  bool rms = true;     // RMSNorm, else LayerNorm
  double epsilon = 1e-6, weight_offset = 0;
  // of queries, of keys: weights and biases have an element for each of their columns; else for
  // each of a group, and groups share them
  bool by_column[2] = {false, false};

  std::int64_t columns() const { return (query_heads + 2 * key_value_heads) * head_size; }
  std::int64_t normed_columns() const { return (query_heads + key_value_heads) * head_size; }
  std::int64_t groups() const { return whole ? 2 : query_heads + key_value_heads; }
};

/// y = (x - mean) * rstd * (weight + weight_offset) + bias.
template <class T>
struct HeadNorm {
  HeadNormShape shape;
  const T* x = nullptr;     // [N, C]
  T* y = nullptr;           // [N, C]; may be x; null: not wanted
  float* mean = nullptr;    // [N, G]; null: not kept
  float* rstd = nullptr;    // [N, G]; null: not kept
  const T* weight[2] = {};  // of queries, of keys; null: 1 each
  const T* bias[2] = {};    // null: 0 each
};

template <class T>
struct HeadNormBackward {
  HeadNormShape shape;
  const T* dy = nullptr;        // [N, C]
  const T* x = nullptr;         // [N, C]
  const float* mean = nullptr;  // [N, G]; null of an RMSNorm
  const float* rstd = nullptr;  // [N, G]
  const T* weight[2] = {};
  T* dx = nullptr;          // [N, C]; may be dy
  float* d_weight[2] = {};  // null: not wanted
  float* d_bias[2] = {};    // null: not wanted
  bool accumulate = false;  // those are added to, rather than overwritten
};

/// T: float, Bf16 or Fp16; at most 32768 columns of queries and keys. Statistics and sums in fp32,
/// folded in a fixed order: repeats on one GPU are bit-equal. NaN makes its group NaN. Bytes of an
/// element: forward reads one T and writes one, backward reads two and writes one; in place values
/// are not touched. Pointers need their element's alignment; 16 bytes, with heads of a multiple of
/// 8, are faster. The references work on host memory, in double precision.
template <class T>
void head_norm_reference(const HeadNorm<T>& op);
template <class T>
void head_norm_backward_reference(const HeadNormBackward<T>& op);
/// Of FoldMemory::partial; without gradients of weights the memory may be null.
std::int64_t head_norm_backward_partial_bytes(const HeadNormShape& shape, bool biased);
/// Asynchronous on `stream`; one launch, whose status is returned.
template <class T>
cudaError_t head_norm(const HeadNorm<T>& op, cudaStream_t stream);
template <class T>
cudaError_t head_norm_backward(const HeadNormBackward<T>& op, const FoldMemory& memory,
                               cudaStream_t stream);

}  // namespace trainx::kernels
