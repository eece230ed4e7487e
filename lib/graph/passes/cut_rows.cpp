#include "core/error.hpp"
#include "graph/passes/block_pieces.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/head_sections.hpp"
#include "graph/passes/number_values.hpp"
#include "graph/passes/producers.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace trainx::graph {

using namespace operations;
using program::ExchangeKind;

namespace {

[[noreturn]] void refuse_context(const std::string& why) {
  throw UserError(ExitCode::invalid_recipe, "parallel.context: " + why);
}

class RowCut {
 public:
  RowCut(Model& model, const GraphPassOptions& options)
      : model_(model),
        options_(options),
        ranks_(options.context_ranks),
        pieces_(model, {program::axes::context, ranks_}, true) {}

  void run() {
    sum_biases_in_linear_layers();
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
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  /// An attention sees gradients of its own heads alone.
  void sum_biases_in_linear_layers() {
    const Producers producers(model_);
    for (Block& block : model_.blocks)
      for (Node& op : block.ops) {
        auto* const attention = std::get_if<Attention>(&op.operation);
        if (!attention || !std::exchange(attention->sums_bias, false)) continue;
        op.parameters[Attention::qkv_bias] = {};
        std::get<Linear>(producers.node(op.inputs[Attention::qkv])->operation).epilogue.bias_sum =
            BiasSum::here;
      }
  }

  void cut(Block block, int number) {
    pieces_.begin(block, number);
    require_rows();
    if (block.parts.are_all_here()) {
      for (Node& op : block.ops) share_room(op);
      return pieces_.keep(std::move(block));
    }
    for (Node& op : block.ops)
      if (auto* loss = std::get_if<RouterLoss>(&op.operation)) share_balance(*loss, op);
    for (Node& op : block.ops) {
      if (auto* dispatch = std::get_if<Dispatch>(&op.operation)) share_capacity(*dispatch, op);
      if (is_of_heads(op.operation) || norms_heads_of_rank(op))
        place_heads(std::move(op));
      else if (std::holds_alternative<Embedding>(op.operation))
        place_embedding(std::move(op));
      else if (std::holds_alternative<TokenRows>(op.operation))
        place_token_rows(std::move(op));
      else if (std::holds_alternative<Exchange>(op.operation))
        pass_on(std::move(op));
      else if (const int targets = targets_of(op.operation); targets != none)
        place_loss(std::move(op), targets);
      else if (may_compute_rows(op) || pieces_.pool_own_samples(op))
        place_rows(std::move(op));
      else
        refuse(op);
    }
    pieces_.end(block.closes);
  }

  std::int64_t rows() const { return pieces_.row_count(); }
  /// Whole samples, or equal parts of one.
  void require_rows() const {
    const std::int64_t samples = model_.batch_size, length = pieces_.block().length;
    const bool whole = samples % ranks_ == 0,
               parts = ranks_ % samples == 0 && length % (ranks_ / samples) == 0;
    if (!whole && !parts)
      refuse_context(std::to_string(ranks_) + " ranks cannot have equal parts of " +
                     std::to_string(samples) + " samples of " + std::to_string(length) +
                     " tokens; write batch.micro_batch_size: 1, or a multiple of " +
                     std::to_string(ranks_) + ", and a data.sequence_length that it divides");
    const std::int64_t in_parts = pieces_.block().rows_of_part;
    if (in_parts % ranks_ != 0)
      refuse_context(std::to_string(ranks_) + " does not divide the " + std::to_string(in_parts) +
                     " tokens of a micro-batch that each rank of parallel.tensor has; write "
                     "another batch.micro_batch_size or data.sequence_length");
  }

  // Values

  /// The value as an operation of rows reads it: heads come back from the ranks that had them.
  ValueId as_rows(const Node& op, ValueId v) {
    const bool is_rows = v == none || pieces_.value(v).batch != none ||
                         pieces_.lies(v) != Lies::columns;
    if (is_rows) return v;
    if (!attended_.contains(v)) refuse(op);  // queries, keys and values side by side
    return pieces_.rows_of_rank(v);
  }

  // Operations

  void place(Node op, bool heads) {
    pieces_.begin_ops(heads);
    pieces_.make_outputs(op, heads ? Lies::columns : Lies::rows);
    pieces_.add(std::move(op));
  }

  /// The loss of routers is of what all ranks have counted.
  void share_balance(RouterLoss& loss, Node& op) {
    const ValueId own = op.inputs[loss.ranks > 1 ? RouterLoss::all : RouterLoss::balance];
    loss.ranks *= ranks_;
    loss.target_ranks = ranks_;
    op.inputs.resize(RouterLoss::all + 1, none);
    op.inputs[RouterLoss::all] = pieces_.exchanged(own, ExchangeKind::numbers_to_all, Lies::rows);
  }

  /// Experts compute the tokens of a rank as they do those of a micro-batch.
  bool may_compute_rows(Node& op) const {
    if (auto* loads = std::get_if<ExpertLoads>(&op.operation)) {
      loads->choices /= ranks_;
      return true;
    }
    if (auto* to_ranks = std::get_if<DispatchToRanks>(&op.operation)) {
      const std::vector<std::int64_t>& chosen =
          model_.values[at(op.inputs[DispatchToRanks::indices])].type.dims;
      to_ranks->capacity = options_.sharing.room(chosen.at(0), chosen.at(1), to_ranks->experts);
      return true;
    }
    // ranks with parts of a layer order heads, and choose some, of as many rows as there are
    if (std::holds_alternative<HeadsByRank>(op.operation) ||
        std::holds_alternative<SharedHeads>(op.operation))
      return true;
    return computes_rows(op.operation) || goes_by_tokens(op.operation);
  }

  /// Experts get slots of as many ranks as before, of which each has the choices of fewer tokens.
  void share_room(Node& op) const {
    std::visit(
        [&](auto& o) {
          if constexpr (requires { o.expected_rows; }) o.expected_rows /= ranks_;
        },
        op.operation);
    auto* const dispatch = std::get_if<Dispatch>(&op.operation);
    if (!dispatch) return;
    const std::int64_t per_token = model_.values[at(op.inputs[Dispatch::indices])].type.columns();
    const ExpertSharing& sharing = options_.sharing;
    dispatch->most_rows = sharing.ranks * sharing.choices(dispatch->expected_rows / per_token,
                                                          per_token,
                                                          sharing.ranks * dispatch->experts);
  }

  /// Which choices of an expert are its first ones, of all ranks' tokens.
  void share_capacity(Dispatch& dispatch, Node& op) {
    if (dispatch.capacity == 0) return;
    dispatch.ranks = ranks_;
    if (options_.keeps_choices) dispatch.capacity = model_.batch_size * pieces_.block().length;
    op.inputs.resize(Dispatch::all + 1, none);
    op.inputs[Dispatch::all] =
        pieces_.exchanged(op.inputs[Dispatch::indices], ExchangeKind::rows_to_all, Lies::all_rows);
  }

  void place_rows(Node op) {
    for (auto* values : {&op.inputs, &op.gradient_of})
      for (ValueId& v : *values) v = as_rows(op, v);
    place(std::move(op), false);
  }

  /// Ranks make the gradients of a table of their own rows, as they do of every weight.
  void place_embedding(Node op) {
    for (const int i :
         {int{Embedding::tokens}, int{Embedding::token_types}, int{Embedding::starts}})
      if (at(i) < op.inputs.size()) op.inputs[at(i)] = pieces_.own_rows(op.inputs[at(i)], true);
    place(std::move(op), false);
  }

  void place_token_rows(Node op) {
    ValueId& tokens = op.inputs[TokenRows::tokens];
    tokens = pieces_.own_rows(tokens, true);
    place(std::move(op), false);
  }

  void place_loss(Node op, int targets) {
    if (!pieces_.rows_are_of_samples())
      refuse_context("ranks cannot have equal parts of the " + std::to_string(model_.batch_size) +
                     " samples of a micro-batch; write another batch.micro_batch_size");
    op.inputs[at(targets)] =
        pieces_.own_rows(op.inputs[at(targets)], model_.head.rows != HeadRows::first);
    if (pieces_.block().kind == BlockKind::head) {
      model_.head.targets = op.inputs[at(targets)];
      model_.head.expected_rows = std::max<std::int64_t>(1, model_.head.expected_rows / ranks_);
      model_.head.chunk = std::min(model_.head.chunk, rows());
      model_.head.predicted_rows = 0;
    }
    place_rows(std::move(op));
  }

  /// What ranks with parts of a layer hand to each other, of fewer rows.
  void pass_on(Node op) {
    op.inputs[Exchange::x] = as_rows(op, op.inputs[Exchange::x]);
    pieces_.pass_on(std::move(op));
  }

  /// A norm of each head behind what turns it, with weights that all heads share.
  bool norms_heads_of_rank(const Node& op) const {
    const auto* norm = std::get_if<HeadNorm>(&op.operation);
    if (!norm || pieces_.lies(op.inputs[HeadNorm::x]) != Lies::columns) return false;
    const auto is_shared = [&](const ParameterId& p) {
      return p.index == none || model_.parameters[at(p.index)].spec.elements() == norm->head_size;
    };
    if (norm->whole || !std::ranges::all_of(op.parameters, is_shared)) refuse(op);
    return true;
  }

  void place_heads(Node op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId v = op.inputs[i];
      if (v == none || pieces_.value(v).batch != none || pieces_.lies(v) != Lies::rows) continue;
      auto sections =
          head_sections(op.operation, static_cast<int>(i), pieces_.value(v).type.columns());
      if (!sections.empty()) op.inputs[i] = pieces_.heads_of_rank(v, std::move(sections));
    }
    std::visit(
        [&](auto& o) {
          if constexpr (requires { o.query_heads, o.key_value_heads; }) {
            require_heads(o.query_heads, o.key_value_heads);
            if constexpr (requires { o.heads_of_layer; })
              if (o.heads_of_layer == 0) o.heads_of_layer = o.query_heads;
            o.query_heads /= ranks_;
            o.key_value_heads = std::max<std::int64_t>(1, o.key_value_heads / ranks_);
          }
        },
        op.operation);
    const bool attends = std::holds_alternative<Attention>(op.operation);
    if (attends) attended_.insert(op.outputs[Attention::out]);
    place(std::move(op), true);
  }

  void require_heads(std::int64_t queries, std::int64_t keys) const {
    for (const std::int64_t heads : {queries, keys})
      if (heads % ranks_ != 0 && (heads == queries || ranks_ % heads != 0))
        refuse_context(std::to_string(ranks_) + " ranks cannot share the " + std::to_string(heads) +
                       (heads == queries ? " query" : " key-value") + " heads of " +
                       pieces_.block().name +
                       ", of which each computes some for all tokens of a row; write a number that "
                       "divides them, or leave parallel.context out");
  }

  [[noreturn]] void refuse(const Node& op) const {
    if (std::holds_alternative<MeanPool>(op.operation))
      refuse_context(
          pieces_.block().name +
          " takes means over samples, of which each rank needs whole ones; write another "
          "batch.micro_batch_size, or leave parallel.context out");
    refuse_context(pieces_.block().name + " has an operation " +
                   std::string(name_of(op.operation)) +
                   ", which needs all tokens of a row on one rank; leave parallel.context out");
  }

  Model& model_;
  const GraphPassOptions& options_;
  const int ranks_;
  BlockPieces pieces_;
  std::set<ValueId> attended_;  // results of attention
};

}  // namespace

void cut_rows(Model& model, const GraphPassOptions& options) {
  if (options.context_ranks > 1) RowCut(model, options).run();
}

}  // namespace trainx::graph
