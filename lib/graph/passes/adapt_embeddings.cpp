#include "core/error.hpp"
#include "graph/model.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/number_values.hpp"
#include <utility>

namespace trainx::graph {

using operations::DropoutLayer;
using operations::Embedding;
using operations::Linear;
using operations::ResidualNorm;
using operations::TokenLogits;
using operations::TokenRows;
using program::Initializer;
using program::ParameterSpec;

namespace {

class AdaptingEmbeddings {
 public:
  AdaptingEmbeddings(Model& model, const AdapterOptions& options)
      : model_(model), options_(options) {}

  void run() {
    for (Block& block : model_.blocks) adapt(block);
    number_values(model_);
  }

 private:
  void adapt(Block& block) {
    std::vector<Node> ops;
    for (Node& op : block.ops) {
      ops.push_back(std::move(op));
      if (std::holds_alternative<Embedding>(ops.back().operation)) add_behind(block, ops);
      const auto* linear = std::get_if<Linear>(&ops.back().operation);
      if (linear && linear->epilogue.makes_logits()) add_behind_logits(ops);
    }
    block.ops = std::move(ops);
  }

  /// `ops` ends with an embedding. Its dropout becomes an operation behind what is added.
  void add_behind(Block& block, std::vector<Node>& ops) {
    const Node embedding = ops.back();
    const ParameterSpec table = spec(embedding.parameters[Embedding::token]);
    const auto low_rank = options_.embeddings.find(table.name);
    const auto rows = options_.token_rows.find(table.name);
    const bool adapts = low_rank != options_.embeddings.end(),
               replaces = rows != options_.token_rows.end();
    if (!adapts && !replaces) return;
    // what the blocks add is kept for backward, as a layer's
    block.kind = BlockKind::layer;
    block.closes = true;
    auto& form = std::get<Embedding>(ops.back().operation);
    const double dropout = std::exchange(form.dropout, 0);
    ops.back().inputs[Embedding::positions] = none;
    const ValueId last = embedding.outputs[Embedding::out];
    ValueId h = ops.back().outputs[Embedding::out] = add_value(last, "_base");
    if (adapts) h = add_low_rank(ops, embedding, table, h, low_rank->second);
    if (replaces) h = add_token_rows(ops, embedding, table, h, rows->second);
    if (dropout > 0) {
      const DropoutLayer drop{.probability = dropout, .length = block.length};
      ops.push_back(Node{drop, {h, model_.positions}, {}, {last}, {}});
    } else {
      ops.back().outputs.front() = last;
    }
  }

  /// base + scale * A^T[tokens] B^T, where A^T lies as a table of narrow rows.
  ValueId add_low_rank(std::vector<Node>& ops, const Node& embedding, const ParameterSpec& table,
                       ValueId base, const LowRankOptions& low_rank) {
    const auto& form = std::get<Embedding>(embedding.operation);
    const std::int64_t rows = table.saved_dims.empty() ? table.dims.front()
                                                       : table.saved_dims.front();
    const ParameterId a = add_parameter({.name = low_rank_a(low_rank.module),
                                         .dims = {table.dims.front(), low_rank.rank},
                                         .decay = true,
                                         .embedding = true,
                                         .of_adapter = true,
                                         .saved_dims = {low_rank.rank, rows},
                                         .saved_transposed = true}),
                      b = add_parameter({.name = low_rank_b(low_rank.module),
                                         .dims = {table.dims.back(), low_rank.rank},
                                         .decay = true,
                                         .initializer = Initializer::normal,
                                         .standard_deviation = 1,
                                         .of_adapter = true});
    Node look_up{Embedding{.untrained_token = form.untrained_token},
                 {embedding.inputs[Embedding::tokens], none, none, none},
                 {a, {}, {}},
                 {},
                 {}};
    const ValueId narrow = add_made(ops, std::move(look_up), Embedding::out, "narrow"),
                  added = add_made(ops, {Linear{}, {narrow, none}, {b, {}}, {}, {}}, Linear::y,
                                   "added");
    const ResidualNorm sum{
        .adds = true, .branch_scale = low_rank.scale * form.scale, .any_form = true};
    return add_made(ops, {sum, {base, added, none, none}, {}, {}, {}}, ResidualNorm::sum, "sum");
  }

  ValueId add_token_rows(std::vector<Node>& ops, const Node& embedding, const ParameterSpec& table,
                         ValueId base, const TokenRowsOptions& rows) {
    const auto& form = std::get<Embedding>(embedding.operation);
    const bool is_sum = embedding.parameters[Embedding::position].index != none ||
                        embedding.parameters[Embedding::type].index != none;
    Node node{
        TokenRows{.ids = rows.ids, .scale = form.scale, .untrained_token = form.untrained_token},
        {embedding.inputs[Embedding::tokens], base},
        {rows_parameter(rows, table.dims.back())},
        {},
        {}};
    if (is_sum) node.parameters.push_back(embedding.parameters[Embedding::token]);
    return add_made(ops, std::move(node), TokenRows::y, "with_rows");
  }

  /// `ops` ends with the head's product.
  void add_behind_logits(std::vector<Node>& ops) {
    const ParameterSpec weight = spec(ops.back().parameters[Linear::weight]);
    const auto rows = options_.token_rows.find(weight.name);
    if (rows == options_.token_rows.end()) return;
    const ValueId x = ops.back().inputs[Linear::x], logits = ops.back().outputs[Linear::y],
                  base = ops.back().outputs[Linear::y] = add_value(logits, "_base");
    ops.push_back(Node{TokenLogits{.ids = rows->second.ids},
                       {x, base},
                       {rows_parameter(rows->second, weight.dims.back())},
                       {logits},
                       {}});
  }

  /// The one of that name, if there is one: a tied head has the embedding's.
  ParameterId rows_parameter(const TokenRowsOptions& rows, std::int64_t columns) {
    const std::string name = token_rows_of(rows.module);
    for (std::size_t p = 0; p < model_.parameters.size(); ++p)
      if (model_.parameters[p].spec.name == name) return {static_cast<int>(p)};
    const std::int64_t count = std::ssize(rows.ids);
    const ParameterId made = add_parameter({.name = name,
                                            .dims = {count + 1, columns},
                                            .decay = true,
                                            .embedding = true,
                                            .of_adapter = true,
                                            .saved_dims = {count, columns}});
    // by itself: the first block that writes a group's gradient overwrites it
    model_.parameters.back().group = name;
    return made;
  }

  /// Puts the operation behind the others. Returns the result that it is made for.
  ValueId add_made(std::vector<Node>& ops, Node node, int output, const std::string& name) {
    const auto made = operations::outputs_of(node.operation, model_.types_of(node));
    for (int o = 0; o < static_cast<int>(made.size()); ++o)
      node.outputs.push_back(o == output ? add_value(name, made[static_cast<std::size_t>(o)].type)
                                         : none);
    ops.push_back(std::move(node));
    return ops.back().outputs[static_cast<std::size_t>(output)];
  }

  const ParameterSpec& spec(const ParameterId& id) const {
    return model_.parameters[static_cast<std::size_t>(id.index)].spec;
  }
  ValueId add_value(std::string name, operations::TensorType type) {
    model_.values.push_back({std::move(name), std::move(type)});
    return static_cast<ValueId>(model_.values.size()) - 1;
  }
  ValueId add_value(ValueId like, const std::string& suffix) {
    const ModelValue value = model_.values[static_cast<std::size_t>(like)];
    return add_value(value.name + suffix, value.type);
  }
  ParameterId add_parameter(ParameterSpec spec) {
    model_.parameters.push_back({std::move(spec)});
    return {static_cast<int>(model_.parameters.size()) - 1};
  }

  Model& model_;
  const AdapterOptions& options_;
};

}  // namespace

void adapt_embeddings(Model& model, const GraphPassOptions& options) {
  if (options.adapter.adapts_embeddings()) AdaptingEmbeddings(model, options.adapter).run();
}

}  // namespace trainx::graph
