#pragma once
#include "ops/dropout.hpp"

namespace trainx::ops {

/// out[B*T, C] = dropout(wte[tokens[b, t]] + wpe[t]); tokens i32 [B, T].
void embedding(const at::Tensor& out, const at::Tensor& tokens, const at::Tensor& wte, const at::Tensor& wpe, const Dropout& dropout);
/// out[B*T, C] = word[tokens[b, t]] + position[t] + type[token_types[b, t]].
void segment_embedding(const at::Tensor& out, const at::Tensor& tokens, const at::Tensor& token_types, const at::Tensor& word, const at::Tensor& position, const at::Tensor& type);
/// d_wte[Vp, C], d_wpe[P, C] (f32) are overwritten wholly, or added to, by d[B*T, C]. The token `without_gradient` learns nothing.
void embedding_backward_tokens(const at::Tensor& d_wte, const at::Tensor& d, const at::Tensor& tokens, bool accumulate, std::int64_t without_gradient = -1);
void embedding_backward_positions(const at::Tensor& d_wpe, const at::Tensor& d, std::int64_t length, bool accumulate);

}  // namespace trainx::ops
