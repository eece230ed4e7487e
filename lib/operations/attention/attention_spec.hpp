#pragma once
#include "core/attention_kind.hpp"
#include "operations/attention/relative_bias_spec.hpp"
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Which keys a query sees: those before it and itself; the first lengths[b] of its sample; those
/// before it in its document.
enum class AttentionMask : std::uint8_t { causal, lengths, documents };

/// Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762). Queries, keys and values
/// are columns of what one product made, [N, query heads + 2 * key-value heads, head size], in this
/// order; nothing is copied. With `memory` they are queries alone, [N, query heads, head size], and
/// keys and values are of another text, [batch * memory length, 2 * key-value heads, head size].
struct Attention {
  static constexpr std::string_view name = "attention";
  static constexpr Work work = Work::attention;
  /// seen: i32, lengths [B] or documents' starts [B, T].
  enum Input : int { qkv, seen, memory };
  enum Parameter : int { bias_table };
  enum Output : int { out, lse };

  std::int64_t query_heads = 1, key_value_heads = 1, head_size = 1;
  std::int64_t batch = 1, length = 1;  // N = batch * length
  AttentionMask mask = AttentionMask::causal;
  AttentionKind kind = AttentionKind::automatic;
  double scale = 0;         // of scores; 0: 1 / sqrt(head_size)
  std::int64_t window = 0;  // a query sees that many keys, its own the last; 0: all before it
  double soft_cap = 0;      // scores become cap * tanh(score / cap); 0: they stay
  std::int64_t memory_length = 0;  // of `memory`, tokens of a sample; 0: there is none
  RelativeBias bias = {};          // of scores, behind scale and cap

  /// Is it what every library computes: as many keys as queries, scores as they come?
  bool is_plain() const {
    return query_heads == key_value_heads && scale == 0 && window == 0 && soft_cap == 0 &&
           memory_length == 0 && bias.buckets == 0;
  }
  /// By the fast kernels of libraries, of a GPU or the host?
  bool is_fused(bool gpu) const;
  bool operator==(const Attention&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
