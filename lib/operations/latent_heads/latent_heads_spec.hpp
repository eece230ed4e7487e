#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// Queries, keys and values of multi-head latent attention (DeepSeek-V2, arXiv:2405.04434) side by
/// side, as Attention reads them: y[N, H * D | H * D | H * V], D = rope + plain. A query comes as
/// (plain, rope), a key's plain part with its value, (plain, V); the part that turns is one for all
/// heads and lies in the last columns of `latent`. In y it is the first of each head's, so that
/// Rotary turns it.
struct LatentHeads {
  static constexpr std::string_view name = "latent_heads";
  static constexpr Work work = Work::norm;
  static constexpr bool of_rows_alone = true;
  /// queries[N, H * D], keys_values[N, H * (plain + V)], latent[N, any + rope].
  enum Input : int { queries, keys_values, latent };
  enum Output : int { y };

  std::int64_t heads = 1, plain = 1, rope = 2, value_size = 1;
  std::int64_t head_size() const { return plain + rope; }
  std::int64_t columns() const { return heads * (2 * head_size() + value_size); }

  bool operator==(const LatentHeads&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
