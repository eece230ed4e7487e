#pragma once
#include "graph/model.hpp"
#include <map>
#include <string>
#include <utility>

namespace trainx::graph {

/// How a value lies over ranks that share a batch, or the parts of a layer.
enum class Lies : std::uint8_t {
  rows,      // each has the rows of its own tokens
  all_rows,  // each has all of them
  columns,   // each has some columns, or heads, of all rows
  shares,    // each has a share of a sum, for all rows
};

/// Which input of a loss, or of the sums that it is made of, are the targets; none: it is neither.
int targets_of(const operations::Operation& operation);

/// Makes several blocks of each of a model's: the operations between two changes of how values lie,
/// and what the ranks exchange there.
class BlockPieces {
 public:
  /// Adds to the model's blocks, which the pass has taken away, for `parts` of each or of each of
  /// its parts. `rows_of_all`: ranks compute their own rows in the embedding and the head, too.
  BlockPieces(Model& model, program::Parts parts, bool rows_of_all)
      : model_(model), parts_(parts), rows_of_all_(rows_of_all) {}

  /// The block that operations are of from here on, and its number among those that were.
  void begin(const Block& block, int number);
  void end(bool closes);
  const Block& block() const { return block_; }

  /// A block whose parts each rank computes of all ranks' rows stays one, of fewer rows.
  void keep(Block block);
  /// An exchange of an earlier pass is a block by itself again.
  void pass_on(Node exchange);
  /// What follows goes by columns, or by rows.
  void begin_ops(bool columns);
  void add(Node op) { now_.ops.push_back(std::move(op)); }
  /// The operations so far become a block.
  void end_piece(BlockKind kind = BlockKind::layer);

  bool is_made(ValueId v) const { return lies_.contains(v); }
  Lies lies(ValueId v) const {
    const auto at = lies_.find(v);
    return at == lies_.end() ? Lies::rows : at->second;
  }
  ModelValue& value(ValueId v) { return model_.values[static_cast<std::size_t>(v)]; }
  /// The value as ranks have it after the exchange, of which there is one.
  ValueId exchanged(ValueId v, program::ExchangeKind kind, Lies to);
  /// Values of the types that the operation makes now; those that it has not yet are new.
  void make_outputs(Node& op, Lies lie);
  ValueId add_value(ModelValue made);
  /// The rank's own rows of a tensor of the micro-batch, or those of the samples that it has rows
  /// of.
  ValueId own_rows(ValueId v, bool by_token);
  /// Makes means over samples those of the rank's own ones. False: it is another operation, or
  /// ranks have parts of a sample.
  bool pool_own_samples(Node& op);
  /// Has each rank whole samples, or equal parts of one, of the block at hand?
  bool rows_are_of_samples() const {
    return row_count() % block_.length == 0 || block_.length % row_count() == 0;
  }
  /// Of a value of the rank's own rows, the heads that the rank computes with, of all rows.
  ValueId heads_of_rank(ValueId v, std::vector<operations::HeadSection> sections);
  /// Of a value of the rank's heads, all heads of the rank's own rows.
  ValueId rows_of_rank(ValueId v);
  /// Rows of the block at hand that each rank has of its own.
  std::int64_t row_count() const {
    const bool in_parts = block_.rows_of_part > 0;
    return (in_parts ? block_.rows_of_part : model_.batch_size * block_.length) / parts_.count;
  }

 private:
  void add_piece(Block piece, const std::string& suffix);
  void add_exchange(Node op, program::AxisSet along);
  ValueId reordered(operations::HeadsByRank op, ValueId v);

  Model& model_;
  const program::Parts parts_;
  const bool rows_of_all_;
  std::map<ValueId, Lies> lies_;
  std::map<std::pair<ValueId, program::ExchangeKind>, ValueId> exchanged_;
  std::map<ValueId, ValueId> parted_, joined_, own_;
  std::map<std::string, int> names_;
  Block block_;  // without its operations
  int cut_so_far_ = 0;
  Block now_;
  bool now_is_of_columns_ = false;
};

}  // namespace trainx::graph
