#pragma once
#include "operations/op_spec.hpp"

namespace trainx {
struct Tensor;
}

namespace trainx::operations {

struct DocumentStarts;  // embedding.hpp

/// out[B * T, C] = dropout(token[tokens] + position[t] + type[token_types]); position and type may
/// be left out, and the sum may be scaled. With `starts` positions count from a document's first
/// token.
struct Embedding {
  static constexpr std::string_view name = "embedding";
  static constexpr Work work = Work::embedding;
  enum Input : int { tokens, token_types, starts, positions };
  enum Parameter : int { token, position, type };
  enum Output : int { out };
  // masked: the gradient as it comes through the dropout; ids: i32 [B * T], which of a part's rows
  // a token has
  enum Scratch : int { masked, ids, scratch_count };

  double dropout = 0;
  double scale = 1;                              // of the sum, before the dropout
  bool scales_tokens = false;                    // ... of the tokens' rows alone
  std::int64_t first_position = 0;               // the table's row of a sample's first token
  std::int64_t untrained_token = program::none;  // its row gets no gradient
  // Ranks have as many parts of the token table's rows: what they make adds up, positions and types
  // being added by the first one. There is no dropout then.
  int table_parts = 1;

  bool operator==(const Embedding&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

 private:
  void run_part_forward(const OpContext& c) const;
  void run_tables_backward(const OpContext& c, Tensor d, const Tensor& token_ids,
                           std::int64_t without_gradient) const;
  Tensor positions_of(const OpContext& c, const Tensor& table) const;
  DocumentStarts documents_of(const OpContext& c) const;
  /// Which row of the part each token has.
  Tensor part_ids(const OpContext& c, std::int64_t rows, std::int64_t without) const;
};

}  // namespace trainx::operations
