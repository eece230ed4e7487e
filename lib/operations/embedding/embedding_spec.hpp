#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

/// out[B * T, C] = dropout(token[tokens] + position[t] + type[token_types]); position and type may
/// be left out, and the sum may be scaled. With `starts` positions count from a document's first
/// token.
struct Embedding {
  static constexpr std::string_view name = "embedding";
  static constexpr Work work = Work::embedding;
  enum Input : int { tokens, token_types, starts, positions };
  enum Parameter : int { token, position, type };
  enum Output : int { out };
  enum Scratch : int { masked };  // the gradient as it comes through the dropout

  double dropout = 0;
  double scale = 1;                              // of the sum, before the dropout
  bool scales_tokens = false;                    // ... of the tokens' rows alone
  std::int64_t first_position = 0;               // the table's row of a sample's first token
  std::int64_t untrained_token = program::none;  // its row gets no gradient

  bool operator==(const Embedding&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;
};

}  // namespace trainx::operations
