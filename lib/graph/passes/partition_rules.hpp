#pragma once
#include "graph/model.hpp"
#include <string>
#include <utility>
#include <vector>

namespace trainx::graph {

/// Which layers of a model ranks may have parts of, and what of them. All refusals are UserError
/// 78, with the block and the operation.
class PartitionRules {
 public:
  PartitionRules(Model& model, int ranks);

  /// Do all that read what the linear layer makes, up to the next ones, go by columns or heads?
  /// Else each rank computes the layer whole, of its own rows.
  bool opens_columns(const Node& op) const;
  /// Of a linear layer of queries, keys and values for fewer key-value heads than ranks, which
  /// neighbours share: the attention that reads them; null: it is none.
  const operations::Attention* shares_key_value_heads(const Node& op) const;
  /// Is it an adapter's first product of all features, or of experts, that another one reads? Each
  /// rank makes all of it then.
  bool narrows_experts(const Node& op) const;
  /// How an operation that reads columns, or opens them, is cut.
  operations::Split split(const std::string& block, const Node& op, bool reads_columns) const;
  /// Sections of a parameter's rows that are each cut: queries, keys and values, or a gate and what
  /// it opens, in one tensor; empty: there is one.
  std::vector<std::int64_t> sections_of(const std::string& block, const Node& op,
                                        int parameter) const;
  /// Rows of zeros behind the tensor's, so that the ranks' parts are equal.
  void pad_rows(const ParameterId& parameter);

  /// A head whose logits are not of the vocabulary: each rank computes it whole, of its own rows.
  bool makes_classes(const Block& block) const;

  void require_rows(const Block& block) const;
  void require_samples(const Block& block, bool of_samples) const;
  void require_computes_rows(const std::string& block, const Node& op) const;
  void require_divides(const std::string& block, const ParameterId& parameter) const;
  [[noreturn]] void refuse(const std::string& block, const Node& op) const;

 private:
  /// Are the logits those of a vocabulary, of which each rank makes a part?
  bool cuts_logits(const operations::CrossEntropy& loss) const;
  bool leads_to_sums(ValueId v) const;
  /// Of queries, keys and values with an adapter, for attention of fewer key-value heads than
  /// ranks: each rank computes them whole, of its own rows.
  bool adapts_shared_heads(const Node& op) const;
  /// What all ranks' parts of a linear layer, or an adapter, make.
  std::int64_t columns_of_all(const Node& op) const;
  /// Who reads the value, or what adapters, sums, heads' norms and rotations make of it; null:
  /// nobody.
  const Node* reader_behind(ValueId v) const;

  Model& model_;
  const int ranks_;
  std::vector<std::vector<Node>> readers_;  // by value, as they were
};

}  // namespace trainx::graph
