#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// How a router makes scores of logits and weights of scores; chosen_softmax: scores are the
/// logits, weights the softmax of those that are chosen.
enum class RouterScore : std::uint8_t { softmax, sigmoid, chosen_softmax };
struct RouterForm {
  int experts = 1, per_token = 1;  // E, k
  RouterScore score = RouterScore::softmax;
  bool normalized = false;  // a token's weights are divided by their sum
  float scale = 1;          // of the weights, at last
  // side by side; experts are chosen of the best groups alone
  int groups = 1, kept_groups = 1;
  bool two_largest = false;  // groups are compared by the sum of their two largest, not the largest
};
/// What a warp holds: a token's experts, the chosen ones and groups, a lane each.
constexpr int most_routed_experts = 512, most_chosen_experts = 32, most_router_groups = 32;
inline bool is_launchable(const RouterForm& f) {
  return f.experts >= 1 && f.experts <= most_routed_experts && f.per_token >= 1 &&
         f.per_token <= most_chosen_experts && f.per_token <= f.experts && f.groups >= 1 &&
         f.groups <= most_router_groups && f.experts % f.groups == 0 && f.kept_groups >= 1 &&
         f.kept_groups <= f.groups && f.kept_groups * (f.experts / f.groups) >= f.per_token;
}

/// scores[N, E] of logits, in place, to which bias[E] is added first where it is not null; of
/// chosen_softmax they are the logits. log_sums[N], where it is not null: log(sum(exp(logits))).
template <class T>
struct RouterScores {
  RouterForm form;
  std::int64_t tokens = 0;
  float* scores = nullptr;
  const T* bias = nullptr;
  float* log_sums = nullptr;
};
/// *z = *before (null: 0) + the sum of the squares of log_sums[N].
struct RouterZ {
  std::int64_t tokens = 0;
  const float* log_sums = nullptr;
  const float* before = nullptr;
  float* z = nullptr;
};
/// The k experts of each token with the largest score, plus correction[E] where it is not null,
/// best first, and their weights. Ties go to the lower expert; a score that is NaN counts as the
/// largest. Weights or indices may be null: not wanted.
template <class T>
struct ChooseExperts {
  RouterForm form;
  std::int64_t tokens = 0;
  const float* scores = nullptr;
  const T* correction = nullptr;
  float* weights = nullptr;         // [N, k]
  std::int32_t* indices = nullptr;  // [N, k]
};
/// balanced[2, E] = before (null: 0) + how many tokens chose an expert, and the sum of its score,
/// of chosen_softmax of the softmax of its logit.
struct BalanceExperts {
  RouterForm form;
  std::int64_t tokens = 0;
  const float* scores = nullptr;
  const std::int32_t* indices = nullptr;
  const float* before = nullptr;
  float* balanced = nullptr;
};
/// d_logits[N, E] of d_weights[N, k], of d_balanced[2, E] (null: 0), the second row of which
/// counts, and of d_z[1] (null: 0), where log_sums are needed and sigmoids are not known. As
/// parts[N, 3 E] the gradients are sums of three elements of T, [part, expert], which keep their 24
/// bits: products of parts are those of fp32. d_logits or parts, the other is null.
template <class T>
struct RouterBackward {
  RouterForm form;
  std::int64_t tokens = 0;
  const float* scores = nullptr;
  const std::int32_t* indices = nullptr;
  const float* d_weights = nullptr;
  const float* d_balanced = nullptr;
  float* d_logits = nullptr;
  T* parts = nullptr;
  const float* d_z = nullptr;
  const float* log_sums = nullptr;
};
constexpr int router_parts = 3;

template <class T>
void router_scores_reference(const RouterScores<T>& op);
void router_z_reference(const RouterZ& op);
template <class T>
void choose_experts_reference(const ChooseExperts<T>& op);
void balance_experts_reference(const BalanceExperts& op);
/// Of d_logits alone.
template <class T>
void router_backward_reference(const RouterBackward<T>& op);
/// Of `partial`, which may hold anything.
std::int64_t balance_experts_scratch_bytes(std::int64_t experts);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; the status of the launches. In fp32, with sums in one order: repeats
/// are bit-equal. T: float, Bf16 or Fp16. Forms that are not launchable are refused.
template <class T>
cudaError_t router_scores(const RouterScores<T>& op, cudaStream_t stream);
/// One block.
cudaError_t router_z(const RouterZ& op, cudaStream_t stream);
template <class T>
cudaError_t choose_experts(const ChooseExperts<T>& op, cudaStream_t stream);
/// partial: 8-byte aligned.
cudaError_t balance_experts(const BalanceExperts& op, double* partial, cudaStream_t stream);
template <class T>
cudaError_t router_backward(const RouterBackward<T>& op, cudaStream_t stream);
/// to[3, n]: `from` once for each part.
template <class T>
cudaError_t repeat_for_parts(T* to, const T* from, std::int64_t n, cudaStream_t stream);
/// to[n] = or += the sum over the parts of from[3, n], the smallest first.
cudaError_t sum_of_parts(float* to, const float* from, std::int64_t n, bool accumulate,
                         cudaStream_t stream);
#endif

}  // namespace trainx::kernels
