// The operations of lib/ops on a GPU: the same contracts, launched on the scope's stream.
#pragma once
#include "core/attention_kind.hpp"
#include "ops/cuda/gpu.hpp"
#include "ops/cross_entropy.hpp"
#include "ops/embedding.hpp"
#include "ops/residual.hpp"
#include <cstdint>

namespace trainx::ops::cuda {

void linear(const Gpu& gpu, const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
            const at::Tensor& bias);
void linear_backward_input(const Gpu& gpu, const at::Tensor& dx, const at::Tensor& dy,
                           const at::Tensor& weight, const at::Tensor& sum);
void linear_gelu(const Gpu& gpu, const at::Tensor& activated, const at::Tensor& preactivation,
                 const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
void linear_gelu_backward(const Gpu& gpu, const at::Tensor& dx, const at::Tensor& d_bias,
                          const at::Tensor& dy, const at::Tensor& weight, const at::Tensor& x,
                          bool accumulate);
void linear_backward_weight(const Gpu& gpu, const at::Tensor& d_weight, const at::Tensor& dy,
                            const at::Tensor& x, bool accumulate);
void causal_attention(const Gpu& gpu, const at::Tensor& out, const at::Tensor& lse,
                      const at::Tensor& qkv, AttentionKind kind);
void causal_attention_backward(const Gpu& gpu, const at::Tensor& d_qkv, const at::Tensor& d_out,
                               const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse,
                               AttentionKind kind);
void cached_attention(const Gpu& gpu, const at::Tensor& out, const at::Tensor& qkv);
void bidirectional_attention(const Gpu& gpu, const at::Tensor& out, const at::Tensor& lse,
                             const at::Tensor& qkv, const at::Tensor& lengths, AttentionKind kind);
void bidirectional_attention_backward(const Gpu& gpu, const at::Tensor& d_qkv,
                                      const at::Tensor& d_out, const at::Tensor& qkv,
                                      const at::Tensor& out, const at::Tensor& lse,
                                      const at::Tensor& lengths, AttentionKind kind);
void document_attention(const Gpu& gpu, const at::Tensor& out, const at::Tensor& lse,
                        const at::Tensor& qkv, const at::Tensor& starts, AttentionKind kind);
void document_attention_backward(const Gpu& gpu, const at::Tensor& d_qkv, const at::Tensor& d_out,
                                 const at::Tensor& qkv, const at::Tensor& out,
                                 const at::Tensor& lse, const at::Tensor& starts,
                                 AttentionKind kind);
void column_sum(const Gpu& gpu, const at::Tensor& sums, const at::Tensor& x, bool accumulate);
void gelu(const Gpu& gpu, const at::Tensor& activated, const at::Tensor& x);
void gelu_backward_with_bias(const Gpu& gpu, const at::Tensor& dx, const at::Tensor& d_bias,
                             const at::Tensor& d_activated, const at::Tensor& x, bool accumulate);
void gelu_erf(const Gpu& gpu, const at::Tensor& activated, const at::Tensor& x);
void gelu_erf_backward_with_bias(const Gpu& gpu, const at::Tensor& dx, const at::Tensor& d_bias,
                                 const at::Tensor& d_activated, const at::Tensor& x,
                                 bool accumulate);
void tanh(const Gpu& gpu, const at::Tensor& y, const at::Tensor& x);
void tanh_backward_with_bias(const Gpu& gpu, const at::Tensor& dx, const at::Tensor& d_bias,
                             const at::Tensor& dy, const at::Tensor& y, bool accumulate);
void drop_out(const Gpu& gpu, const at::Tensor& out, const at::Tensor& x, const Dropout& dropout);
void add_branch_layer_norm(const Gpu& gpu, const NormedSum& to, const at::Tensor& residual,
                           const at::Tensor& branch, const at::Tensor& bias,
                           const at::Tensor& weight, const at::Tensor& shift, double epsilon,
                           const Dropout& dropout, const PendingNorm& before,
                           const at::Tensor& rows);
void layer_norm(const Gpu& gpu, const at::Tensor& normed, const at::Tensor& x,
                const at::Tensor& weight, const at::Tensor& bias, double epsilon);
void add_branch_layer_norm_backward(const Gpu& gpu, const NormedSumGradients& to,
                                    const at::Tensor& d_sum, const at::Tensor& d_normed,
                                    const at::Tensor& sum, const at::Tensor& mean,
                                    const at::Tensor& rstd, const at::Tensor& weight,
                                    const Dropout& dropout);
void embedding(const Gpu& gpu, const at::Tensor& out, const at::Tensor& tokens,
               const at::Tensor& wte, const at::Tensor& wpe, const Dropout& dropout,
               const at::Tensor& document_starts);
void segment_embedding(const Gpu& gpu, const at::Tensor& out, const at::Tensor& tokens,
                       const at::Tensor& token_types, const at::Tensor& word,
                       const at::Tensor& position, const at::Tensor& type);
void embedding_backward_tokens(const Gpu& gpu, const at::Tensor& d_wte, const at::Tensor& d,
                               const at::Tensor& tokens, bool accumulate,
                               std::int64_t without_gradient);
void embedding_backward_positions(const Gpu& gpu, const at::Tensor& d_wpe, const at::Tensor& d,
                                  std::int64_t length, bool accumulate,
                                  const at::Tensor& document_starts);
void summed_cross_entropy(const Gpu& gpu, const LossTo& to, const at::Tensor& logits,
                          const std::int32_t* targets, std::int64_t vocab_size);
void scored_cross_entropy(const Gpu& gpu, const LossTo& to, const Scores& scores,
                          const at::Tensor& logits, const std::int32_t* targets,
                          std::int64_t vocab_size);
void summed_cross_entropy_with_gradient(const Gpu& gpu, const LossTo& to, const at::Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed);

void scatter_rows(const Gpu& gpu, const at::Tensor& to, const at::Tensor& from,
                  const at::Tensor& rows);
void clear(const Gpu& gpu, const at::Tensor& x);
void copy_in(const Gpu& gpu, const at::Tensor& to, const void* from);
void copy_out(const Gpu& gpu, void* to, const at::Tensor& from);
void first_rows(const Gpu& gpu, const at::Tensor& rows, std::int64_t length);
std::int64_t select_targets(const Gpu& gpu, const at::Tensor& rows, const at::Tensor& row_targets,
                            const at::Tensor& targets);

}  // namespace trainx::ops::cuda
