// Attention of encoders by the kernels of attention.hpp with windows on both sides of a query
// (Beltagy et al. 2020, arXiv:2004.05150), fewer key-value heads than query heads, and scores of
// another scale.
#pragma once
#include "kernels/attention/attention.hpp"

namespace trainx::kernels {

/// Operands and results as of grouped_attention.hpp, for float, Bf16 and Fp16. A query sees keys at
/// a distance below size.window (0: all) of the first lengths[b] tokens of its sample (null: all);
/// size.causal is not looked at, a soft cap is cudaErrorInvalidValue. Rows past a length get zeros,
/// lse too, and so do their gradients.
template <class T>
cudaError_t nearby_attention_forward(const T* qkv, const std::int32_t* lengths, T* out, float* lse,
                                     const AttentionSize& size, cudaStream_t stream);
/// Writes all of d_qkv. `delta`: B * H * T floats of scratch.
template <class T>
cudaError_t nearby_attention_backward(const T* qkv, const std::int32_t* lengths, const T* out,
                                      const float* lse, const T* d_out, T* d_qkv, float* delta,
                                      const AttentionSize& size, cudaStream_t stream);

/// Same contract on host memory, in double precision inside: the reference for tests.
void nearby_attention_reference(const float* qkv, const std::int32_t* lengths, const float* d_out,
                                float* out, float* lse, float* d_qkv, const AttentionSize& size);

}  // namespace trainx::kernels
