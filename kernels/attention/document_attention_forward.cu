#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/documents.cuh"
#include "kernels/attention/dropped_attention.hpp"

namespace trainx::kernels {
namespace {

template <class T>
cudaError_t of_documents(const T* qkv, const std::int32_t* starts, T* out, float* lse,
                         const AttentionSize& size, cudaStream_t stream) {
  if (size.dropout) return dropped_grouped_forward(qkv, starts, out, lse, size, stream);
  return launch_by_head<Forward, T>(size, stream, qkv, Documents{starts, nullptr}, out, lse);
}

}  // namespace

cudaError_t document_attention_forward(const float* qkv, const std::int32_t* starts, float* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream) {
  return of_documents(qkv, starts, out, lse, size, stream);
}
cudaError_t document_attention_forward(const Bf16* qkv, const std::int32_t* starts, Bf16* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream) {
  return of_documents(qkv, starts, out, lse, size, stream);
}
cudaError_t document_attention_forward(const Fp16* qkv, const std::int32_t* starts, Fp16* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream) {
  return of_documents(qkv, starts, out, lse, size, stream);
}

}  // namespace trainx::kernels
