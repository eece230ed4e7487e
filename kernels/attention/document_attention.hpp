// Self-attention inside the documents that a row holds one behind the other, by the kernels of
// attention.hpp: a token sees itself and those before it in its document.
#pragma once
#include "kernels/attention/attention.hpp"
#include <cstdint>

namespace trainx::kernels {

/// As attention_forward and attention_backward; AttentionSize::causal is not looked at. `starts`
/// i32 [B, T] on the device: where in the row a token's document begins; -1: padding, at the end of
/// a row alone, whose rows get zeros, lse too. Tokens of other documents cost nothing but in the
/// tiles that a document shares with its neighbours.
cudaError_t document_attention_forward(const float* qkv, const std::int32_t* starts, float* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream);
cudaError_t document_attention_forward(const Bf16* qkv, const std::int32_t* starts, Bf16* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream);
cudaError_t document_attention_forward(const Fp16* qkv, const std::int32_t* starts, Fp16* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream);

/// `delta`: B * H * T floats of scratch; `ends`: B * T integers of scratch.
cudaError_t document_attention_backward(const float* qkv, const std::int32_t* starts,
                                        const float* out, const float* lse, const float* d_out,
                                        float* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream);
cudaError_t document_attention_backward(const Bf16* qkv, const std::int32_t* starts,
                                        const Bf16* out, const float* lse, const Bf16* d_out,
                                        Bf16* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream);
cudaError_t document_attention_backward(const Fp16* qkv, const std::int32_t* starts,
                                        const Fp16* out, const float* lse, const Fp16* d_out,
                                        Fp16* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream);

/// Same contracts on host memory, in double precision inside: the reference for tests. d_qkv may be
/// null, then d_out is not read.
void document_attention_reference(const float* qkv, const std::int32_t* starts, const float* d_out,
                                  float* out, float* lse, float* d_qkv, const AttentionSize& size);

}  // namespace trainx::kernels
