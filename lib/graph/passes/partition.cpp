#include "core/error.hpp"
#include "graph/model.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/number_values.hpp"
#include "graph/passes/partition_rules.hpp"
#include <algorithm>
#include <map>
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
      : model_(model), ranks_(ranks), parts_{program::axes::tensor, ranks}, rules_(model, ranks) {}

  void run() {
    std::vector<Block> blocks = std::move(model_.blocks);
    model_.blocks.clear();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (static_cast<int>(b) == model_.first_of_targets)
        model_.first_of_targets = static_cast<int>(model_.blocks.size());
      cut(std::move(blocks[b]));
    }
    number_values(model_);
  }

 private:
  /// How a value lies over the ranks that share the parts of a layer.
  enum class Lies : std::uint8_t {
    rows,      // each has the rows of its own tokens
    all_rows,  // each has all of them
    columns,   // each has some columns, or heads, of all rows
    shares,    // each has a share of a sum, for all rows
  };

  Lies lies(ValueId v) const {
    const auto at = lies_.find(v);
    return at == lies_.end() ? Lies::rows : at->second;
  }
  ModelValue& value(ValueId v) { return model_.values[static_cast<std::size_t>(v)]; }

  /// The block in as many as there are changes between rows and columns, with what the ranks
  /// exchange between them.
  void cut(Block block) {
    rules_.require_rows(block);
    block_ = {};
    block_.name = block.name;
    block_.layer = block.layer;
    block_.length = block.length;
    cut_so_far_ = 0;
    for (Node& op : block.ops) {
      if (std::holds_alternative<Embedding>(op.operation))
        cut_embedding(std::move(op));
      else if (std::holds_alternative<CrossEntropy>(op.operation))
        cut_loss(std::move(op));
      else if (const Attention* attention = rules_.shares_key_value_heads(op))
        cut_queries(std::move(op), *attention);
      else
        place(std::move(op), is_of_columns(op));
    }
    end_block();
    model_.blocks.back().closes = block.closes;
  }

  bool is_of_columns(const Node& op) const {
    for (const ValueId v : op.inputs)
      if (v != none && lies(v) == Lies::columns) return true;
    return rules_.opens_columns(op);
  }

  std::vector<ValueId> place(Node op, bool columns) {
    for (auto* values : {&op.inputs, &op.gradient_of})
      for (ValueId& v : *values) v = brought(op, v, columns);
    if (!columns) rules_.require_computes_rows(block_.name, op);
    note_shared_heads(op);
    begin_ops(columns);
    Lies made = Lies::rows;
    if (columns) made = cut_operation(op) ? Lies::shares : Lies::columns;
    make_outputs(op, made);
    std::vector<ValueId> outputs = op.outputs;
    now_.ops.push_back(std::move(op));
    return outputs;
  }

  /// Of fewer key-value heads than ranks each has the one that SharedHeads gave it.
  void note_shared_heads(const Node& op) {
    const bool chooses = std::holds_alternative<SharedHeads>(op.operation);
    const bool needs = std::visit(
        [&](const auto& o) {
          if constexpr (requires { o.query_heads, o.key_value_heads; })
            return o.key_value_heads % ranks_ != 0;
          return false;
        },
        op.operation);
    if (needs && !has_shared_heads_.contains(op.inputs.front())) rules_.refuse(block_.name, op);
    if (chooses || needs) has_shared_heads_.insert(op.outputs.front());
  }

  // Blocks

  void begin_ops(bool columns) {
    if (!now_.ops.empty() && columns != now_is_of_columns_) end_block();
    now_is_of_columns_ = columns;
  }

  /// The operations so far become a block.
  void end_block(BlockKind kind = BlockKind::layer) {
    if (now_.ops.empty()) return;
    now_.kind = kind;
    if (!now_is_of_columns_ && kind == BlockKind::layer)
      now_.rows_of_part = model_.batch_size * block_.length / ranks_;
    add(std::exchange(now_, {}), now_is_of_columns_ ? ".part" : ".rows");
  }

  void add(Block block, const std::string& suffix) {
    block.name = block_.name + (cut_so_far_ == 0 ? "" : suffix);
    if (const int number = ++names_[block.name]; number > 1) block.name += std::to_string(number);
    block.layer = block_.layer;
    block.length = block_.length;
    block.closes = true;
    block.parts = parts_;
    block.own_part_alone = true;
    block.continues = cut_so_far_++ > 0;
    model_.blocks.push_back(std::move(block));
  }

  // Values

  /// The value as an operation of rows, or of columns, reads it.
  ValueId brought(const Node& op, ValueId v, bool columns) {
    if (v == none || value(v).batch != none) return v;
    if (lies(v) == Lies::shares) v = exchanged(v, ExchangeKind::sums_to_rows, Lies::rows);
    if (columns && lies(v) == Lies::rows)
      v = exchanged(v, ExchangeKind::rows_to_all, Lies::all_rows);
    if (!columns && lies(v) == Lies::columns) rules_.refuse(block_.name, op);
    return v;
  }

  ValueId exchanged(ValueId v, ExchangeKind kind, Lies to) {
    const auto [known, is_new] = exchanged_.try_emplace({v, kind}, none);
    if (!is_new) return known->second;
    end_block();
    Node op{Exchange{.kind = kind, .ranks = ranks_}, {v}, {}, {none}, {}};
    make_outputs(op, to);
    known->second = op.outputs.front();
    Block between;
    between.ops.push_back(std::move(op));
    add(std::move(between), kind == ExchangeKind::rows_to_all    ? ".gather"
                            : kind == ExchangeKind::sums_to_rows ? ".scatter"
                                                                 : ".numbers");
    return known->second;
  }

  /// Values of the types that the operation makes now; those that it has not yet are new.
  void make_outputs(Node& op, Lies lie) {
    const std::vector<OutputSpec> specs = outputs_of(op.operation, model_.types_of(op));
    for (std::size_t o = 0; o < specs.size() && o < op.outputs.size(); ++o) {
      if (!specs[o].type.defined()) continue;
      if (op.outputs[o] == none) {
        op.outputs[o] = static_cast<ValueId>(model_.values.size());
        model_.values.push_back({std::string(specs[o].name), {}});
      }
      value(op.outputs[o]).type = specs[o].type;
      lies_[op.outputs[o]] = lie;
    }
  }

  // Operations

  /// Each rank's part of the operation. True: its outputs are shares of a sum.
  bool cut_operation(Node& op) {
    bool reads_columns = false;
    for (const ValueId v : op.inputs) reads_columns |= v != none && lies(v) == Lies::columns;
    if (std::holds_alternative<SharedHeads>(op.operation)) return false;
    if (auto* attention = std::get_if<Attention>(&op.operation);
        attention && attention->key_value_heads % ranks_ != 0 && attention->sums_bias) {
      attention->sums_bias = false;  // linear layers sum theirs
      op.parameters[Attention::qkv_bias] = {};
    }
    const Split split = rules_.split(block_.name, op, reads_columns);
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
    if (auto* linear = std::get_if<Linear>(&op.operation);
        linear && split.sums_outputs && op.parameters[Linear::bias].index != none)
      linear->adds_up = true;
    return split.sums_outputs;
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
      parameter.part_of = whole_tensors     ? PartOf::tensors
                          : *dimension == 0 ? PartOf::rows
                                            : PartOf::columns;
      parameter.sections = rules_.sections_of(block_.name, op, static_cast<int>(p));
      rules_.require_divides(block_.name, parameter);
    }
  }

  /// Each rank adds the rows of its part of the vocabulary; what all add is dropped out behind.
  void cut_embedding(Node op) {
    auto& embedding = std::get<Embedding>(op.operation);
    const ValueId embedded = op.outputs.front(), positions = op.inputs[Embedding::positions];
    const double dropout = std::exchange(embedding.dropout, 0);
    embedding.table_parts = ranks_;
    rules_.pad_rows(op.parameters[Embedding::token]);
    begin_ops(true);
    cut_parameters(op, *split_of(op.operation, SplitAxis::row, model_.types_of(op)));
    if (dropout > 0) op.outputs.front() = none;
    make_outputs(op, Lies::shares);
    const ValueId shares = op.outputs.front();
    now_.ops.push_back(std::move(op));
    end_block(BlockKind::embedding);
    if (dropout <= 0) return;
    const ValueId sums = exchanged(shares, ExchangeKind::sums_to_rows, Lies::rows);
    Node dropped{DropoutLayer{.probability = dropout, .length = block_.length},
                 {sums, positions},
                 {},
                 {embedded},
                 {}};
    place(std::move(dropped), false);
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
    if (linear.epilogue.activates()) rules_.refuse(block_.name, op);
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
    if (lies(logits) != Lies::columns) rules_.refuse(block_.name, op);
    Node sums{
        LogitSums{loss.classes, loss.scale, loss.soft_cap}, {logits, targets}, {}, {none}, {}};
    make_outputs(sums, Lies::columns);
    const ValueId own = sums.outputs.front();
    begin_ops(true);
    now_.ops.push_back(std::move(sums));
    const ValueId all = exchanged(own, ExchangeKind::numbers_to_all, Lies::all_rows);
    begin_ops(true);
    now_.ops.push_back({PartLoss{loss.classes, loss.score, loss.smoothing, loss.z_loss},
                        {own, all, targets},
                        {},
                        {},
                        {}});
    end_block(BlockKind::head);
    // logits of all rows lie between two blocks
    model_.head = {.rows = HeadRows::all,
                   .expected_rows = model_.batch_size * block_.length,
                   .chunk = 0,
                   .targets = targets};
  }

  Model& model_;
  const int ranks_;
  const program::Parts parts_;
  PartitionRules rules_;
  std::map<ValueId, Lies> lies_;
  std::map<std::pair<ValueId, ExchangeKind>, ValueId> exchanged_;
  std::set<ValueId> has_shared_heads_;
  std::map<std::string, int> names_;
  Block block_;  // whose operations are placed: its name, layer and length
  int cut_so_far_ = 0;
  Block now_;
  bool now_is_of_columns_ = false;
};

}  // namespace

void partition(Model& model, const GraphPassOptions& options) {
  if (options.tensor_ranks > 1) Partition(model, options.tensor_ranks).run();
}

}  // namespace trainx::graph
