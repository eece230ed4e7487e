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
/// order; nothing is copied. Values may be of another size. With `memory` they are queries alone,
/// [N, query heads, head size], and keys and values are of another text, [batch * memory length,
/// 2 * key-value heads, head size].
struct Attention {
  static constexpr std::string_view name = "attention";
  static constexpr Work work = Work::attention;
  /// seen: i32, lengths [B] or documents' starts [B, T]. positions: i64 [B] of the samples, which
  /// name the random numbers of dropout.
  enum Input : int { qkv, seen, positions, memory };
  enum Output : int { out, lse };
  // sinks: [query heads]; bias_table: [buckets, query heads]; qkv_bias: with `sums_bias`
  enum Parameter : int { sinks, bias_table, qkv_bias };

  std::int64_t query_heads = 1, key_value_heads = 1, head_size = 1;
  std::int64_t batch = 1, length = 1;  // N = batch * length
  std::int64_t value_size = 0;         // of values' heads; 0: head_size
  AttentionMask mask = AttentionMask::causal;
  AttentionKind kind = AttentionKind::automatic;
  double scale = 0;  // of scores; 0: 1 / sqrt(head_size)
  // a query sees keys at a distance below it, on the sides that the mask leaves; 0: all
  std::int64_t window = 0;
  double soft_cap = 0;     // scores become cap * tanh(score / cap); 0: they stay
  double dropout = 0;      // of probabilities, while training
  bool alibi = false;      // scores fall with distance, by a slope of each head
  bool has_sinks = false;  // a learned score of each head takes probability, and has no value
  std::int64_t memory_length = 0;  // of `memory`, tokens of a sample; 0: there is none
  RelativeBias bias = {};          // of scores, behind scale and cap
  // backward gives the gradient of the bias that was added to qkv, the sum of d_qkv over rows
  bool sums_bias = false;
  int compute_capability = 0;  // of the GPU, 90: 9.0; 0: not known
  // these are heads of a layer with so many, of which each rank has as many; 0: all of it
  std::int64_t heads_of_layer = 0;
  std::int64_t first_head = 0;  // of those; where it is computed

  static constexpr int dropout_site = 3;  // of the block's; others are the residual's and a head's

  std::int64_t all_heads() const { return heads_of_layer > 0 ? heads_of_layer : query_heads; }
  std::int64_t values() const { return value_size > 0 ? value_size : head_size; }
  std::int64_t key_value_columns() const { return key_value_heads * (head_size + values()); }
  std::int64_t columns() const {  // of qkv
    return query_heads * head_size + (memory_length > 0 ? 0 : key_value_columns());
  }
  /// Is it what every library computes: as many keys as queries, scores as they come?
  bool is_plain() const {
    return query_heads == key_value_heads && scale == 0 && window == 0 && soft_cap == 0 &&
           dropout == 0 && values() == head_size && !alibi && !has_sinks && memory_length == 0 &&
           bias.buckets == 0;
  }
  /// Has a GPU's library no kernel for it, whatever the heads? Then trainx's own compute it.
  bool is_trainx_own() const;
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
