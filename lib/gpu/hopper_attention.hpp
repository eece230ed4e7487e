// Attention by trainx's kernels of Hopper's own instructions (kernels/attention/hopper).
#pragma once
#include "gpu/attention.hpp"

namespace trainx::gpu::hopper {

/// Attention in bf16, of what path_of gives to hopper. Operands and results as in
/// gpu/attention.hpp; sinks: those of `in` in f32, [H], or null. Backward writes delta[B, H, T]
/// where it is not null: out . d_out of each row, which gradients of sinks are made of.
/// Asynchronous on the stream. A padded problem whose lengths are all T has the bits of one that is
/// not padded.
void forward(const AttentionProblem& p, const AttentionInputs& in, const float* sinks, void* out,
             float* lse, cudaStream_t stream);
std::int64_t backward_workspace_bytes(const AttentionProblem& p);
AttentionColumnSums column_sums_in(void* workspace, const AttentionProblem& p);
void backward(const AttentionProblem& p, const AttentionInputs& in, const void* out,
              const float* lse, const void* d_out, void* d_qkv, float* delta,
              const StreamSpace& space);

}  // namespace trainx::gpu::hopper
