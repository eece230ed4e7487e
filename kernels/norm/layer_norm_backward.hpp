#pragma once
#include "kernels/fold_memory.hpp"
#include "kernels/norm/norm_form.hpp"
#include "kernels/random/fused_dropout.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Operands are [N, C] unless said; float, Bf16 or Fp16. N >= 0, C from 0 to 32768. Memory of the
/// device; for the reference, of the host.
template <class T>
struct LayerNormBackward {
  std::int64_t rows = 0, columns = 0;  // N, C
  // null (norm_backward): there was no norm; x, statistics, gamma, d_gamma and d_beta are not
  // looked at then
  const T* d_normed = nullptr;
  const T* x = nullptr;           // what was normed
  const float* mean = nullptr;    // [N]; null of an RMSNorm
  const float* rstd = nullptr;    // [N]
  const T* gamma = nullptr;       // [C]; null: 1 each
  const T* d_residual = nullptr;  // gradient that reaches x beside the norm; null: none
  T* dx = nullptr;                // may be d_residual or d_normed
  // dx through the dropout, times the branch's scale; may be d_normed; null where nothing is
  // dropped or scaled: the gradient of the branch is dx itself
  T* d_branch = nullptr;
  float* d_gamma = nullptr;  // [C]; null: not wanted
  float* d_beta = nullptr;   // [C]; null: not wanted
  // [C]: column sums of d_branch, or of dx without one, as rounded; null: not wanted
  float* d_bias = nullptr;
  bool accumulate_norm = false;  // d_gamma and d_beta are added to, rather than overwritten
  bool accumulate_bias = false;
};

/// With g = d_normed * (gamma + weight_offset) and z = (x - mean) * rstd: dx = d_residual + rstd *
/// (g - average(g) - z * average(g z)), of an RMSNorm without average(g); d_gamma = column sums of
/// d_normed * z, d_beta of d_normed. Sums in fp32; repeats on one GPU are bit-equal. NaN carries
/// through. Bytes of an element: reads three T and writes one, or two with d_branch. Pointers need
/// their element's alignment; 16 bytes, with C a multiple of 8, are faster. With no rows the sums
/// are 0.
void layer_norm_backward_reference(const LayerNormBackward<float>& op, const FusedDropout& dropout);
void layer_norm_backward_reference(const LayerNormBackward<Bf16>& op, const FusedDropout& dropout);
void layer_norm_backward_reference(const LayerNormBackward<Fp16>& op, const FusedDropout& dropout);
/// Of a norm in any form, where operands may be null as said above.
template <class T>
void norm_backward_reference(const LayerNormBackward<T>& op, const NormForm& form,
                             const FusedDropout& dropout);
/// Of FoldMemory::partial.
std::int64_t layer_norm_backward_partial_bytes(std::int64_t columns);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of its launches. Of `memory` it takes `partial`
/// alone.
cudaError_t layer_norm_backward(const LayerNormBackward<float>& op, const FusedDropout& dropout,
                                const FoldMemory& memory, cudaStream_t stream);
cudaError_t layer_norm_backward(const LayerNormBackward<Bf16>& op, const FusedDropout& dropout,
                                const FoldMemory& memory, cudaStream_t stream);
cudaError_t layer_norm_backward(const LayerNormBackward<Fp16>& op, const FusedDropout& dropout,
                                const FoldMemory& memory, cudaStream_t stream);
template <class T>
cudaError_t norm_backward(const LayerNormBackward<T>& op, const NormForm& form,
                          const FusedDropout& dropout, const FoldMemory& memory,
                          cudaStream_t stream);
#endif

}  // namespace trainx::kernels
