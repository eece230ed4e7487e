#include "graph/passes/block_pieces.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/head_sections.hpp"
#include "graph/passes/number_values.hpp"
#include "graph/passes/partition_rules.hpp"
#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace trainx::graph {

using namespace operations;
using program::ExchangeKind;

namespace {

class Partition {
 public:
  Partition(Model& model, int ranks)
      : model_(model),
        ranks_(ranks),
        parts_{program::axes::tensor, ranks},
        rules_(model, ranks),
        pieces_(model, parts_, false) {}

  void run() {
    std::vector<Block> blocks = std::move(model_.blocks);
    model_.blocks.clear();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (static_cast<int>(b) == model_.first_of_targets)
        model_.first_of_targets = static_cast<int>(model_.blocks.size());
      cut(std::move(blocks[b]), static_cast<int>(b));
    }
    number_values(model_);
  }

 private:
  Lies lies(ValueId v) const { return pieces_.lies(v); }
  ModelValue& value(ValueId v) { return pieces_.value(v); }

  /// The block in as many as there are changes between rows and columns, with what the ranks
  /// exchange between them.
  void cut(Block block, int number) {
    rules_.require_rows(block);
    pieces_.begin(block, number);
    take_counts(block);
    if (rules_.makes_classes(block)) return cut_classes(std::move(block));
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      Node& op = block.ops[i];
      if (std::holds_alternative<Dispatch>(op.operation)) bring_routing(block.ops, op);
      if (std::holds_alternative<Embedding>(op.operation))
        cut_embedding(std::move(op), replaces_rows_of(block.ops, i) ? &block.ops[++i] : nullptr);
      else if (std::holds_alternative<CrossEntropy>(op.operation))
        cut_loss(std::move(op));
      else if (const Attention* attention = rules_.shares_key_value_heads(op))
        cut_queries(std::move(op), *attention);
      else
        place(std::move(op), is_of_columns(op));
    }
    if (!counts_.empty()) rules_.refuse(pieces_.block().name, counts_.front());
    pieces_.end(block.closes);
  }

  /// All that tokens are dispatched and combined by comes before, so that nothing is exchanged
  /// between the layers of experts.
  void bring_routing(const std::vector<Node>& ops, const Node& dispatch) {
    for (const Node& op : ops)
      if (std::holds_alternative<Combine>(op.operation) &&
          op.inputs[Combine::places] == dispatch.outputs[Dispatch::places])
        for (const ValueId v : {dispatch.inputs[Dispatch::x], dispatch.inputs[Dispatch::indices],
                                op.inputs[Combine::weights], op.inputs[Combine::gate]})
          if (pieces_.is_made(v) && lies(v) == Lies::rows)
            exchanged(v, ExchangeKind::rows_to_all, Lies::all_rows);
  }

  /// Each rank computes the loss of its own rows, with all of the head's weights.
  void cut_classes(Block block) {
    rules_.require_samples(block, pieces_.rows_are_of_samples());
    for (Node& op : block.ops) {
      const int targets = targets_of(op.operation);
      if (targets != none) {
        ValueId& all = op.inputs[static_cast<std::size_t>(targets)];
        all = pieces_.own_rows(all, model_.head.rows != HeadRows::first);
        model_.head.targets = all;
      }
      place(std::move(op), false);
    }
    model_.head.expected_rows = std::max<std::int64_t>(1, model_.head.expected_rows / ranks_);
    model_.head.chunk = std::min(model_.head.chunk, pieces_.row_count());
    model_.head.predicted_rows = 0;
    pieces_.end_piece(BlockKind::head);
  }

  /// What routers have counted becomes part of the loss where that is made.
  void take_counts(Block& block) {
    const auto counts = [](const Node& op) {
      return std::holds_alternative<RouterLoss>(op.operation) ||
             std::holds_alternative<RouterZLoss>(op.operation) ||
             std::holds_alternative<ExpertLoads>(op.operation);
    };
    std::ranges::copy_if(block.ops, std::back_inserter(counts_), counts);
    std::erase_if(block.ops, counts);
  }

  /// The layer of an adapter that multiplies by its weight, too, before the adapter: shares of a
  /// sum have the bias once.
  void set_layer_apart(Node& adapter) {
    Node layer{Linear{}, {adapter.inputs[LowRank::x]}, {}, {none, none}, {}};
    layer.parameters = {std::exchange(adapter.parameters[LowRank::weight], {}),
                        std::exchange(adapter.parameters[LowRank::bias], {})};
    adapter.inputs[LowRank::base] = place(std::move(layer), true)[Linear::y];
  }

  /// Does the operation behind an embedding put trained rows in the place of the table's?
  static bool replaces_rows_of(const std::vector<Node>& ops, std::size_t embedding) {
    if (embedding + 1 == ops.size()) return false;
    const Node& next = ops[embedding + 1];
    return std::holds_alternative<TokenRows>(next.operation) &&
           next.inputs[TokenRows::base] == ops[embedding].outputs[Embedding::out];
  }

  bool is_of_columns(const Node& op) const {
    for (const ValueId v : op.inputs)
      if (v != none && (lies(v) == Lies::columns || lies(v) == Lies::all_rows)) return true;
    return is_of_heads(op.operation) || std::holds_alternative<Dispatch>(op.operation) ||
           sums_shares(op) || rules_.opens_columns(op);
  }

  std::vector<ValueId> place(Node op, bool columns) {
    if (std::holds_alternative<LowRank>(op.operation) && reads_columns(op) &&
        op.parameters[LowRank::bias].index != none)
      set_layer_apart(op);
    if (is_of_heads(op.operation)) bring_heads(op);
    for (auto* values : {&op.inputs, &op.gradient_of})
      for (ValueId& v : *values)
        if (!takes_shares(op, v)) v = brought(op, v, columns);
    if (!columns && !pieces_.pool_own_samples(op))
      rules_.require_computes_rows(pieces_.block().name, op);
    if (columns) note_shared_heads(op);
    pieces_.begin_ops(columns);
    const Lies made = columns ? cut_operation(op) : Lies::rows;
    pieces_.make_outputs(op, made);
    std::vector<ValueId> outputs = op.outputs;
    pieces_.add(std::move(op));
    return outputs;
  }

  /// Heads that ranks made of their own rows, with whole weights: each gets its own of all rows.
  void bring_heads(Node& op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId v = op.inputs[i];
      if (v == none || value(v).batch != none || lies(v) != Lies::rows) continue;
      auto sections = head_sections(op.operation, static_cast<int>(i), value(v).type.columns());
      if (sections.empty()) continue;
      op.inputs[i] = pieces_.heads_of_rank(v, std::move(sections));
      has_shared_heads_.insert(op.inputs[i]);
    }
  }

  /// Of fewer key-value heads than ranks each has the one that SharedHeads gave it, or an exchange.
  void note_shared_heads(const Node& op) {
    const bool chooses = std::holds_alternative<SharedHeads>(op.operation);
    const bool needs = std::visit(
        [&](const auto& o) {
          if constexpr (requires { o.query_heads, o.key_value_heads; })
            return o.key_value_heads % ranks_ != 0;
          return false;
        },
        op.operation);
    if (needs && !has_shared_heads_.contains(op.inputs.front()))
      rules_.refuse(pieces_.block().name, op);
    if (chooses || needs) has_shared_heads_.insert(op.outputs.front());
  }

  // Values

  /// The value as an operation of rows, or of columns, reads it.
  ValueId brought(const Node& op, ValueId v, bool columns) {
    if (v == none || value(v).batch != none) return v;
    if (lies(v) == Lies::shares) v = exchanged(v, ExchangeKind::sums_to_rows, Lies::rows);
    if (columns && lies(v) == Lies::rows)
      v = exchanged(v, ExchangeKind::rows_to_all, Lies::all_rows);
    if (!columns && lies(v) == Lies::columns) rules_.refuse(pieces_.block().name, op);
    return v;
  }

  /// An adapter of a layer whose ranks have shares of a sum adds shares of its own to them, and so
  /// does an expert of all tokens to those that tokens choose. A sum of shares, and a product of
  /// some by a whole weight, are shares as well.
  bool takes_shares(const Node& op, ValueId v) const {
    if (v == none || lies(v) != Lies::shares) return false;
    if (std::holds_alternative<Combine>(op.operation))
      return v == op.inputs[Combine::rows] || v == op.inputs[Combine::shared];
    if (std::holds_alternative<LowRank>(op.operation))
      return v == op.inputs[LowRank::base] && lies(op.inputs[LowRank::x]) == Lies::columns;
    return sums_shares(op) || multiplies_shares(op);
  }

  bool sums_shares(const Node& op) const {
    return std::holds_alternative<ResidualNorm>(op.operation) &&
           split_of(op.operation, SplitAxis::column, model_.types_of(op)) &&
           lies(op.inputs[ResidualNorm::residual]) == Lies::shares &&
           lies(op.inputs[ResidualNorm::branch]) == Lies::shares;
  }

  /// The second product of an adapter of experts.
  bool multiplies_shares(const Node& op) const {
    return std::holds_alternative<GroupedLinear>(op.operation) &&
           lies(op.inputs[GroupedLinear::x]) == Lies::shares && op.parameters.size() == 1;
  }

  ValueId exchanged(ValueId v, ExchangeKind kind, Lies to) {
    return pieces_.exchanged(v, kind, to);
  }

  // Operations

  bool reads_columns(const Node& op) const {
    const ValueId x = op.inputs.front();
    return x != none && lies(x) == Lies::columns;
  }

  /// Each rank's part of the operation; how its outputs lie.
  Lies cut_operation(Node& op) {
    if (std::holds_alternative<SharedHeads>(op.operation)) return Lies::columns;
    if (std::holds_alternative<Dispatch>(op.operation)) return Lies::all_rows;
    if (std::holds_alternative<Combine>(op.operation)) return combined(op);
    if (sums_shares(op) || multiplies_shares(op)) return Lies::shares;
    if (rules_.narrows_experts(op) && !reads_columns(op)) return Lies::all_rows;
    if (auto* attention = std::get_if<Attention>(&op.operation);
        attention && attention->key_value_heads % ranks_ != 0 && attention->sums_bias) {
      attention->sums_bias = false;  // linear layers sum theirs
      op.parameters[Attention::qkv_bias] = {};
    }
    const Split split = rules_.split(pieces_.block().name, op, reads_columns(op));
    cut_parameters(op, split);
    if (auto* attention = std::get_if<Attention>(&op.operation))
      attention->heads_of_layer = attention->query_heads;
    std::visit(
        [&](auto& o) {
          if constexpr (requires { o.query_heads, o.key_value_heads; })
            o.query_heads /= ranks_,
                o.key_value_heads = std::max<std::int64_t>(1, o.key_value_heads / ranks_);
          else if constexpr (requires { o.heads; })
            o.heads /= ranks_;
        },
        op.operation);
    if (auto* adapter = std::get_if<LowRank>(&op.operation)) cut_adapter(*adapter, split);
    if (auto* linear = std::get_if<Linear>(&op.operation);
        linear && split.sums_outputs && op.parameters[Linear::bias].index != none)
      linear->adds_up = true;
    if (auto* experts = std::get_if<GroupedLinear>(&op.operation);
        experts && split.sums_outputs && op.parameters.size() > GroupedLinear::bias)
      experts->adds_up = true;
    return split.sums_outputs ? Lies::shares : Lies::columns;
  }

  void cut_adapter(LowRank& adapter, const Split& split) const {
    if (split.sums_outputs)
      adapter.input_parts = ranks_;
    else
      for (LowRankPart& part : adapter.parts) part.first /= ranks_, part.width /= ranks_;
  }

  /// Each rank has a share of what every expert makes.
  Lies combined(const Node& op) const {
    for (const int i : {int{Combine::rows}, int{Combine::shared}}) {
      const ValueId v = op.inputs[static_cast<std::size_t>(i)];
      if (v != none && lies(v) != Lies::shares) rules_.refuse(pieces_.block().name, op);
    }
    return Lies::shares;
  }

  void cut_parameters(Node& op, const Split& split) {
    for (std::size_t p = 0; p < op.parameters.size() && p < split.parameters.size(); ++p) {
      const std::optional<int> dimension = split.parameters[p];
      ParameterId& parameter = op.parameters[p];
      if (!dimension || parameter.index == none) continue;
      parameter.parts = parts_;
      // heads that have a tensor each
      const bool whole_tensors = parameter.count > 1 &&
                                 std::holds_alternative<HeadNorm>(op.operation);
      const bool experts = std::holds_alternative<GroupedLinear>(op.operation) &&
                           !split.sums_outputs;
      parameter.part_of = whole_tensors     ? PartOf::tensors
                          : *dimension == 0 ? PartOf::rows
                          : experts         ? PartOf::expert_rows
                                            : PartOf::columns;
      parameter.sections = rules_.sections_of(pieces_.block().name, op, static_cast<int>(p));
      rules_.require_divides(pieces_.block().name, parameter);
    }
  }

  /// Each rank adds the rows of its part of the vocabulary, with those that are trained in their
  /// place; what all add is dropped out behind. `replacing` may be null.
  void cut_embedding(Node op, Node* replacing) {
    auto& embedding = std::get<Embedding>(op.operation);
    const ValueId embedded = op.outputs.front(), positions = op.inputs[Embedding::positions];
    const double dropout = std::exchange(embedding.dropout, 0);
    embedding.table_parts = ranks_;
    rules_.pad_rows(op.parameters[Embedding::token]);
    pieces_.begin_ops(true);
    cut_parameters(op, *split_of(op.operation, SplitAxis::row, model_.types_of(op)));
    if (dropout > 0) op.outputs.front() = none;
    pieces_.make_outputs(op, Lies::shares);
    const ValueId shares = op.outputs.front();
    const std::int64_t rows = model_.types_of(op).parameters[Embedding::token].rows();
    pieces_.add(std::move(op));
    if (replacing) cut_token_rows(std::move(*replacing), rows);
    pieces_.end_piece(replacing ? BlockKind::layer : BlockKind::embedding);
    if (dropout <= 0) return;
    const ValueId sums = exchanged(shares, ExchangeKind::sums_to_rows, Lies::rows);
    Node dropped{DropoutLayer{.probability = dropout, .length = pieces_.block().length},
                 {sums, positions},
                 {},
                 {embedded},
                 {}};
    place(std::move(dropped), false);
  }

  void cut_token_rows(Node op, std::int64_t rows_of_part) {
    std::get<TokenRows>(op.operation).part_rows = rows_of_part;
    cut_parameters(op, *split_of(op.operation, SplitAxis::row, model_.types_of(op)));
    pieces_.make_outputs(op, Lies::shares);
    pieces_.add(std::move(op));
  }

  /// Of fewer key-value heads than ranks: each rank makes those of its own rows, and all get them.
  void cut_queries(Node op, const Attention& attention) {
    const auto& linear = std::get<Linear>(op.operation);
    const auto part_of = [&](const ParameterId& all, bool queries) {
      if (all.index == none) return all;
      // keys lie behind no queries then
      model_.parameters[static_cast<std::size_t>(all.index + 1)].continues = false;
      return queries ? ParameterId{all.index, 1} : ParameterId{all.index + 1, 2};
    };
    const auto made_of = [&](bool queries) {
      Node node{Linear{}, {op.inputs[Linear::x]}, {}, {none, none}, {}};
      for (const int p : {int{Linear::weight}, int{Linear::bias}})
        node.parameters.push_back(part_of(op.parameters[static_cast<std::size_t>(p)], queries));
      node.outputs.resize(2, none);
      return node;
    };
    if (linear.epilogue.activates()) rules_.refuse(pieces_.block().name, op);
    const ValueId all = place(made_of(false), false)[Linear::y],
                  own = place(made_of(true), true)[Linear::y];
    place(Node{SharedHeads{.key_value_heads = attention.key_value_heads,
                           .head_size = attention.head_size,
                           .value_size = attention.values(),
                           .ranks = ranks_},
               {own, all},
               {},
               {op.outputs[Linear::y]},
               {}},
          true);
  }

  /// Each rank has the logits of its part of the classes; three numbers and more of each row make
  /// the loss of all.
  void cut_loss(Node op) {
    const auto loss = std::get<CrossEntropy>(op.operation);
    const ValueId logits = op.inputs[CrossEntropy::logits],
                  targets = op.inputs[CrossEntropy::targets];
    if (lies(logits) != Lies::columns) rules_.refuse(pieces_.block().name, op);
    Node sums{
        LogitSums{loss.classes, loss.scale, loss.soft_cap}, {logits, targets}, {}, {none}, {}};
    pieces_.make_outputs(sums, Lies::columns);
    const ValueId own = sums.outputs.front();
    pieces_.begin_ops(true);
    pieces_.add(std::move(sums));
    const ValueId all = exchanged(own, ExchangeKind::numbers_to_all, Lies::all_rows);
    for (Node& counted : counts_) bring_counts(counted);
    pieces_.begin_ops(true);
    pieces_.add({PartLoss{loss.classes, loss.score, loss.smoothing, loss.z_loss},
                 {own, all, targets},
                 {},
                 {},
                 {}});
    for (Node& counted : std::exchange(counts_, {})) pieces_.add(std::move(counted));
    pieces_.end_piece(BlockKind::head);
    // logits of all rows lie between two blocks
    model_.head = {.rows = HeadRows::all,
                   .expected_rows = model_.batch_size * pieces_.block().length,
                   .chunk = 0,
                   .targets = targets};
  }

  /// Losses of routers are of what all ranks have counted of their own rows.
  void bring_counts(Node& op) {
    const auto bring = [&]<class Loss>(Loss& loss, ValueId own) {
      loss.ranks = ranks_;
      op.inputs.resize(Loss::all + 1, none);
      op.inputs[Loss::all] = exchanged(own, ExchangeKind::numbers_to_all, Lies::all_rows);
    };
    if (auto* balance = std::get_if<RouterLoss>(&op.operation))
      bring(*balance, op.inputs[RouterLoss::balance]);
    else if (auto* z = std::get_if<RouterZLoss>(&op.operation))
      bring(*z, op.inputs[RouterZLoss::z]);
  }

  Model& model_;
  const int ranks_;
  const program::Parts parts_;
  PartitionRules rules_;
  BlockPieces pieces_;
  std::set<ValueId> has_shared_heads_;
  std::vector<Node> counts_;  // of routers, of the block at hand
};

}  // namespace

void partition(Model& model, const GraphPassOptions& options) {
  if (options.tensor_ranks > 1) Partition(model, options.tensor_ranks).run();
}

}  // namespace trainx::graph
