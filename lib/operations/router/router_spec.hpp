#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Chooses `per_token` of `experts` experts for each token, and their weights, in fp32 whatever is
/// computed in. Logits are x[N, H] weight[E, H]^T; scores are their softmax or sigmoid; chosen are
/// the experts with the largest score, plus `correction`[E] where there is one, which only decides
/// the choice (Wang et al. 2024, arXiv:2408.15664). Ties go to the lower expert.
///
/// With groups of experts side by side, only experts of the best `kept_groups` groups are chosen
/// (DeepSeek-V2, arXiv:2405.04434).
struct Router {
  static constexpr std::string_view name = "router";
  static constexpr Work work = Work::activation;  // beside products
  static constexpr bool of_tokens_alone = true;
  /// balance, z_before: of the layer before, where there is one. added [N, E]: of an adapter, to
  /// logits.
  enum Input : int { x, balance, z_before, added };
  /// correction is a constant. bias [E] is added to logits; it may be absent.
  enum Parameter : int { weight, correction, bias };
  /// weights f32 [N, k]; indices i32 [N, k], all k different; scores f32 [N, E], of
  /// `chosen_softmax` the logits; balanced f32 [2, E]: how many tokens chose an expert, and the sum
  /// of its softmax over all tokens, added to `balance`: RouterLoss reads it;
  /// log_sums f32 [N]: log(sum(exp(logits))); z f32 [1]: the sum of their squares, added to
  /// `z_before`: RouterZLoss reads it.
  enum Output : int { weights, indices, scores, balanced, log_sums, z };

  /// chosen_softmax: of the chosen logits alone.
  enum class Score : std::uint8_t { softmax, sigmoid, chosen_softmax };
  /// What groups are compared by: their largest score, or the sum of the two largest.
  enum class GroupScore : std::uint8_t { largest, two_largest };

  std::int64_t experts = 1, per_token = 1;
  Score score = Score::softmax;
  bool normalized = false;  // a token's weights are divided by their sum
  double scale = 1;         // of the weights, at last
  std::int64_t groups = 1, kept_groups = 1;
  GroupScore group_score = GroupScore::largest;
  bool balances = false;
  bool has_z = false;  // of logits whose softmax scores are, before or after the choice

  bool operator==(const Router&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

  /// Where x has 16 bits. On a host x_cast and d_x: so many rows at a time in f32. On a GPU
  /// gradients of logits are in parts, and so are the sums of the weight's gradient.
  enum Scratch : int { x_cast, weight_cast, d_logits, d_x, parts, part_sums };
  static constexpr std::int64_t part_count = 3;
  /// What the GPU's kernels hold in a warp.
  static constexpr std::int64_t gpu_experts = 512, gpu_per_token = 32, gpu_groups = 32;
  static constexpr std::int64_t cast_rows = 1024;
};

}  // namespace trainx::operations
