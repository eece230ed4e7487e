// What attention takes of a GPU, as plans count it and lib/gpu/attention.cpp does it.
#pragma once
#include "operations/attention/attention_spec.hpp"

namespace trainx::operations {

/// Are they trainx's kernels of Hopper's own instructions (kernels/attention/hopper)? They are the
/// fastest where they are, and repeat to the bit.
bool is_by_hopper(const Attention& a, DType compute);
/// Are they cuDNN's kernels, those of a library that trainx calls itself? Else trainx's own or
/// LibTorch's, by a.kind.
bool is_by_cudnn(const Attention& a, DType compute);
/// In how many calls backward goes through a micro-batch: one, but where cuDNN's is to be
/// deterministic. It then keeps the gradients of all scores, 2 bytes each, of as many samples as
/// 256 MiB hold, and at least one (lib/gpu/cudnn_attention.cpp).
std::int64_t gpu_backward_calls(const Attention& a, DType compute, bool deterministic);
/// Of the workspace of a GPU's stream for both directions: sums of query gradients in fp32, tables
/// of biases, what LibTorch's attention allocates, results too. `beside`: what other instructions
/// take of it; one at a time uses it.
program::Bytes gpu_workspace_bytes(const Attention& a, DType compute, bool deterministic,
                                   program::Bytes beside);
/// What cuBLAS keeps of a GPU's workspace for LibTorch's batched products (AttentionKind::math),
/// for good.
constexpr program::Bytes kept_product_bytes = std::int64_t{40} << 20;
/// Of lib/operations/attention/math_attention.cpp, on any device.
program::Bytes math_attention_bytes(const Attention& a, DType compute);

}  // namespace trainx::operations
