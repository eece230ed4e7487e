#include "kernels/attention/backward.hpp"
#include "kernels/attention/documents.cuh"
#include "kernels/attention/dropped_attention.hpp"

namespace trainx::kernels {
namespace {

template <class T>
cudaError_t of_documents(const T* qkv, const std::int32_t* starts, const T* out, const float* lse,
                         const T* d_out, T* d_qkv, float* delta, std::int32_t* ends,
                         const AttentionSize& size, cudaStream_t stream) {
  if (size.dropout)
    return dropped_grouped_backward(qkv, starts, out, lse, d_out, d_qkv, delta, ends, size, stream);
  return launch_passes(qkv, Documents{starts, ends}, out, lse, d_out, d_qkv, delta, size, stream);
}

}  // namespace

cudaError_t document_attention_backward(const float* qkv, const std::int32_t* starts,
                                        const float* out, const float* lse, const float* d_out,
                                        float* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream) {
  return of_documents(qkv, starts, out, lse, d_out, d_qkv, delta, ends, size, stream);
}
cudaError_t document_attention_backward(const Bf16* qkv, const std::int32_t* starts,
                                        const Bf16* out, const float* lse, const Bf16* d_out,
                                        Bf16* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream) {
  return of_documents(qkv, starts, out, lse, d_out, d_qkv, delta, ends, size, stream);
}
cudaError_t document_attention_backward(const Fp16* qkv, const std::int32_t* starts,
                                        const Fp16* out, const float* lse, const Fp16* d_out,
                                        Fp16* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream) {
  return of_documents(qkv, starts, out, lse, d_out, d_qkv, delta, ends, size, stream);
}

}  // namespace trainx::kernels
