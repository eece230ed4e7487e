// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/router/router.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void router_scores(const Router& r, const Tensor& scores, const Tensor& log_sums, const Tensor& x,
                   const Tensor& weight, const Tensor& bias, const RouterCasts& casts, bool adds);
void add_router_z(const Tensor& z, const Tensor& before, const Tensor& log_sums);
void router_backward_bias(const Tensor& d_bias, const Tensor& d_logits, bool accumulate,
                          const RouterCasts& casts);
void choose_experts(const Router& r, const Tensor& weights, const Tensor& indices,
                    const Tensor& scores, const Tensor& correction);
void balance_experts(const Router& r, const Tensor& balanced, const Tensor& before,
                     const Tensor& scores, const Tensor& indices);
void router_scores_backward(const Router& r, const Tensor& d_logits, const Tensor& d_weights,
                            const Tensor& d_balanced, const RouterZGradient& of_z,
                            const Tensor& scores, const Tensor& indices, const RouterCasts& casts);
void router_backward_input(const Tensor& dx, const Tensor& d_logits, const Tensor& weight,
                           const Tensor& addend, const RouterCasts& casts);
void router_backward_weight(const Tensor& d_weight, const Tensor& d_logits, const Tensor& x,
                            bool accumulate, const RouterCasts& casts);
}  // namespace cpu

namespace cuda {
void router_scores(const Gpu& gpu, const Router& r, const Tensor& scores, const Tensor& log_sums,
                   const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const RouterCasts& casts, bool adds);
void add_router_z(const Gpu& gpu, const Tensor& z, const Tensor& before, const Tensor& log_sums);
void router_backward_bias(const Gpu& gpu, const Tensor& d_bias, const Tensor& d_logits,
                          bool accumulate, const RouterCasts& casts);
void choose_experts(const Gpu& gpu, const Router& r, const Tensor& weights, const Tensor& indices,
                    const Tensor& scores, const Tensor& correction);
void balance_experts(const Gpu& gpu, const Router& r, const Tensor& balanced, const Tensor& before,
                     const Tensor& scores, const Tensor& indices);
void router_scores_backward(const Gpu& gpu, const Router& r, const Tensor& d_logits,
                            const Tensor& d_weights, const Tensor& d_balanced,
                            const RouterZGradient& of_z, const Tensor& scores,
                            const Tensor& indices, const RouterCasts& casts);
void router_backward_input(const Gpu& gpu, const Tensor& dx, const Tensor& d_logits,
                           const Tensor& weight, const Tensor& addend, const RouterCasts& casts);
void router_backward_weight(const Gpu& gpu, const Tensor& d_weight, const Tensor& d_logits,
                            const Tensor& x, bool accumulate, const RouterCasts& casts);
}  // namespace cuda

}  // namespace trainx::operations
