// The operations of lib/ops on a CPU: the same contracts, on tensors of the host.
#pragma once
#include "core/attention_kind.hpp"
#include "ops/cross_entropy.hpp"
#include "ops/residual.hpp"
#include <cstdint>

namespace trainx::ops::cpu {

void causal_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv, AttentionKind kind);
void causal_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                               const Tensor& out, const Tensor& lse, AttentionKind kind);
void bidirectional_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                             const Tensor& lengths, AttentionKind kind);
void bidirectional_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                      const Tensor& out, const Tensor& lse, const Tensor& lengths,
                                      AttentionKind kind);
void cached_attention(const Tensor& out, const Tensor& qkv);
void column_sum(const Tensor& sums, const Tensor& x, bool accumulate);
void document_attention(const Tensor& out, const Tensor& lse, const Tensor& qkv,
                        const Tensor& starts, AttentionKind kind);
void document_attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv,
                                 const Tensor& out, const Tensor& lse, const Tensor& starts,
                                 AttentionKind kind);
void drop_out(const Tensor& result, const Tensor& x, const Dropout& dropout);
void segment_embedding(const Tensor& out, const Tensor& tokens, const Tensor& token_types,
                       const Tensor& word, const Tensor& position, const Tensor& type);
void embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte, const Tensor& wpe,
               const Dropout& dropout, const Tensor& document_starts);
void embedding_backward_tokens(const Tensor& d_wte, const Tensor& d, const Tensor& tokens,
                               bool accumulate, std::int64_t without_gradient);
void embedding_backward_positions(const Tensor& d_wpe, const Tensor& d, std::int64_t length,
                                  bool accumulate, const Tensor& document_starts);
void gelu(const Tensor& activated, const Tensor& x);
void gelu_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                             const Tensor& x, bool accumulate);
void gelu_erf(const Tensor& activated, const Tensor& x);
void gelu_erf_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& d_activated,
                                 const Tensor& x, bool accumulate);
void copy_in(const Tensor& to, const void* from);
void copy_out(void* to, const Tensor& from);
void layer_norm(const Tensor& normed, const Tensor& x, const Tensor& weight, const Tensor& bias,
                double epsilon);
void linear(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias);
void linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                           const Tensor& sum);
void linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                            bool accumulate, const Tensor& cast);
void linear_gelu(const Tensor& activated, const Tensor& preactivation, const Tensor& x,
                 const Tensor& weight, const Tensor& bias);
void linear_gelu_backward(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                          const Tensor& weight, const Tensor& x, bool accumulate);
void add_branch_layer_norm(const NormedSum& to, const Tensor& residual, const Tensor& branch,
                           const Tensor& bias, const Tensor& weight, const Tensor& shift,
                           double epsilon, const Dropout& dropout, const PendingNorm& before,
                           const Tensor& rows);
void add_branch_layer_norm_backward(const NormedSumGradients& to, const Tensor& d_sum,
                                    const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                                    const Tensor& rstd, const Tensor& weight,
                                    const Dropout& dropout);
void scatter_rows(const Tensor& to, const Tensor& from, const Tensor& rows);
void clear(const Tensor& x);
void first_rows(const Tensor& rows, std::int64_t length);
std::int64_t select_targets(const Tensor& rows, const Tensor& row_targets, const Tensor& targets);
void summed_cross_entropy(const LossTo& to, const Tensor& logits, const std::int32_t* targets,
                          std::int64_t vocab_size);
void scored_cross_entropy(const LossTo& to, const Scores& scores, const Tensor& logits,
                          const std::int32_t* targets, std::int64_t vocab_size);
void summed_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed);
void tanh(const Tensor& y, const Tensor& x);
void tanh_backward_with_bias(const Tensor& dx, const Tensor& d_bias, const Tensor& dy,
                             const Tensor& y, bool accumulate);
void cast(const Tensor& to, const Tensor& from);
void add(const Tensor& to, const Tensor& from);

}  // namespace trainx::ops::cpu
