// Which experts compute a token, and their weights (router_spec.hpp).
#pragma once
#include "operations/router/router_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// Room for operands where x has 16 bits, else undefined. On a host operands in f32, some rows at
/// a time. On a GPU gradients of logits in parts: three elements of x's type whose sum is the fp32
/// one.
struct RouterCasts {
  Tensor x = {};          // [rows, H]; host
  Tensor weight = {};     // [E, H]; on a GPU the weight once for each part, [3 E, H]
  Tensor d_x = {};        // [rows, H]; host
  Tensor parts = {};      // [N, 3 E]; GPU
  Tensor part_sums = {};  // f32 [3 E, H]; GPU
};

/// Where a loss of log_sums is: their sum's gradient, and they themselves. Undefined: there is
/// none.
struct RouterZGradient {
  Tensor d_z = {};       // f32 [1]
  Tensor log_sums = {};  // f32 [N]
};

/// scores[N, E] of x[N, H] weight[E, H]^T + bias[E] (undefined: 0), and log_sums[N] of those logits
/// (undefined: not wanted). With `adds` `scores` holds what logits are added to.
void router_scores(const Router& r, const Tensor& scores, const Tensor& log_sums, const Tensor& x,
                   const Tensor& weight, const Tensor& bias, const RouterCasts& casts,
                   bool adds = false);
/// weights[N, k] and indices[N, k] of scores[N, E] and correction[E] (undefined: 0). One of both
/// may be undefined: it is not wanted. A score that is no number counts as the largest.
void choose_experts(const Router& r, const Tensor& weights, const Tensor& indices,
                    const Tensor& scores, const Tensor& correction);
/// z[1] = the sum of the squares of log_sums[N], plus `before` (undefined: 0).
void add_router_z(const Tensor& z, const Tensor& before, const Tensor& log_sums);
/// balanced[2, E] of these tokens, plus `before` (undefined: 0).
void balance_experts(const Router& r, const Tensor& balanced, const Tensor& before,
                     const Tensor& scores, const Tensor& indices);
/// d_logits[N, E] of d_weights[N, k], of d_balanced[2, E] (undefined: 0), whose counts have no
/// gradient, and of a loss of log_sums. Where there is room for parts they are made, and d_logits
/// may be undefined.
void router_scores_backward(const Router& r, const Tensor& d_logits, const Tensor& d_weights,
                            const Tensor& d_balanced, const RouterZGradient& of_z,
                            const Tensor& scores, const Tensor& indices, const RouterCasts& casts);
/// Of d_logits, or of its parts: d_bias[E] (f32) = or += their sums over tokens.
void router_backward_bias(const Tensor& d_bias, const Tensor& d_logits, bool accumulate,
                          const RouterCasts& casts);
/// Of d_logits, or of its parts: dx[N, H] = d_logits weight, plus `addend`[N, H] where given, which
/// may be dx.
void router_backward_input(const Tensor& dx, const Tensor& d_logits, const Tensor& weight,
                           const Tensor& addend, const RouterCasts& casts);
/// Of the same: d_weight[E, H] (f32) = or += d_logits^T x.
void router_backward_weight(const Tensor& d_weight, const Tensor& d_logits, const Tensor& x,
                            bool accumulate, const RouterCasts& casts);

}  // namespace trainx::operations
