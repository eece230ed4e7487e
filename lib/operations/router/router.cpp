#include "operations/router/router.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/router/router_backends.hpp"

namespace trainx::operations {

void router_scores(const Router& r, const Tensor& scores, const Tensor& log_sums, const Tensor& x,
                   const Tensor& weight, const Tensor& bias, const RouterCasts& casts, bool adds) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(scores))
      return cuda::router_scores(*gpu, r, scores, log_sums, x, weight, bias, casts, adds);
  return cpu::router_scores(r, scores, log_sums, x, weight, bias, casts, adds);
}

void add_router_z(const Tensor& z, const Tensor& before, const Tensor& log_sums) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(z)) return cuda::add_router_z(*gpu, z, before, log_sums);
  return cpu::add_router_z(z, before, log_sums);
}

void router_backward_bias(const Tensor& d_bias, const Tensor& d_logits, bool accumulate,
                          const RouterCasts& casts) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_bias))
      return cuda::router_backward_bias(*gpu, d_bias, d_logits, accumulate, casts);
  return cpu::router_backward_bias(d_bias, d_logits, accumulate, casts);
}

void choose_experts(const Router& r, const Tensor& weights, const Tensor& indices,
                    const Tensor& scores, const Tensor& correction) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(scores))
      return cuda::choose_experts(*gpu, r, weights, indices, scores, correction);
  return cpu::choose_experts(r, weights, indices, scores, correction);
}

void balance_experts(const Router& r, const Tensor& balanced, const Tensor& before,
                     const Tensor& scores, const Tensor& indices) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(scores))
      return cuda::balance_experts(*gpu, r, balanced, before, scores, indices);
  return cpu::balance_experts(r, balanced, before, scores, indices);
}

void router_scores_backward(const Router& r, const Tensor& d_logits, const Tensor& d_weights,
                            const Tensor& d_balanced, const RouterZGradient& of_z,
                            const Tensor& scores, const Tensor& indices, const RouterCasts& casts) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(scores))
      return cuda::router_scores_backward(*gpu, r, d_logits, d_weights, d_balanced, of_z, scores,
                                          indices, casts);
  return cpu::router_scores_backward(r, d_logits, d_weights, d_balanced, of_z, scores, indices,
                                     casts);
}

void router_backward_input(const Tensor& dx, const Tensor& d_logits, const Tensor& weight,
                           const Tensor& addend, const RouterCasts& casts) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dx))
      return cuda::router_backward_input(*gpu, dx, d_logits, weight, addend, casts);
  return cpu::router_backward_input(dx, d_logits, weight, addend, casts);
}

void router_backward_weight(const Tensor& d_weight, const Tensor& d_logits, const Tensor& x,
                            bool accumulate, const RouterCasts& casts) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_weight))
      return cuda::router_backward_weight(*gpu, d_weight, d_logits, x, accumulate, casts);
  return cpu::router_backward_weight(d_weight, d_logits, x, accumulate, casts);
}

}  // namespace trainx::operations
