#include "core/error.hpp"
#include "graph/model.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/number_values.hpp"
#include <cmath>
#include <set>
#include <utility>

namespace trainx::graph {

using operations::Activation;
using operations::GroupedLinear;
using operations::Linear;
using operations::LowRank;
using operations::Router;
using program::Initializer;
using program::ParameterSpec;

namespace {

// sites of a block's dropouts below it are the model's own
constexpr int first_adapter_site = 64;

class Adapting {
 public:
  Adapting(Model& model, const AdapterOptions& options) : model_(model), options_(options) {}

  void run() {
    for (ModelParameter& p : model_.parameters)
      p.training = {.trained = !p.constant && options_.trained.contains(p.spec.name)};
    model_.balance_rate = 0;  // a frozen router's bias stays
    for (Block& block : model_.blocks) {
      if (!block.continues) site_ = first_adapter_site;
      adapt(block);
    }
    number_values(model_);
  }

 private:
  /// A weight, and its adapter.
  using Part = std::pair<int, LowRankOptions>;

  void adapt(Block& block) {
    std::vector<Node> ops;
    for (Node& op : block.ops) {
      if (std::holds_alternative<Router>(op.operation)) add_before_router(ops, op);
      ops.push_back(std::move(op));
      if (std::holds_alternative<GroupedLinear>(ops.back().operation)) add_behind_experts(ops);
      const auto* linear = std::get_if<Linear>(&ops.back().operation);
      if (!linear) continue;
      LowRank adapter = adapter_of(ops.back());
      if (adapter.parts.empty()) continue;
      adapter.length = block.length;
      add_behind(ops, std::move(adapter));
    }
    block.ops = std::move(ops);
  }

  const LowRankOptions* of_weight(const ParameterId& weight) const {
    const auto at = options_.weights.find(spec(weight.index).name);
    return at == options_.weights.end() ? nullptr : &at->second;
  }

  /// `ops` ends with a layer's experts: products of all of them, as theirs, and a scaled sum.
  void add_behind_experts(std::vector<Node>& ops) {
    const Node experts = ops.back();
    const auto& form = std::get<GroupedLinear>(experts.operation);
    const ParameterId weight = experts.parameters[GroupedLinear::weight];
    const LowRankOptions* const low_rank = of_weight(weight);
    if (!low_rank) return;
    const std::int64_t E = form.of_experts, r = low_rank->rank,
                       in = value(experts.inputs[GroupedLinear::x]).type.columns(),
                       out = form.features(model_.types_of(experts));
    const ParameterId a{add_parameter({.name = low_rank_a(low_rank->module),
                                       .dims = {E, r, in},
                                       .decay = true,
                                       .initializer = Initializer::uniform,
                                       .bound = 1 / std::sqrt(static_cast<double>(in)),
                                       .of_adapter = true,
                                       .saved_dims = {E * r, in}},
                                      false),
                        1, weight.parts},
        b{add_parameter({.name = low_rank_b(low_rank->module),
                         .dims = {E, out, r},
                         .decay = true,
                         .of_adapter = true,
                         .saved_dims = {out, r * E},
                         .saved_experts_last = true},
                        false),
          1, weight.parts};
    const ValueId last = experts.outputs[GroupedLinear::y],
                  base = add_value(value(last).name + "_base", value(last).type);
    ops.back().outputs[GroupedLinear::y] = base;
    std::get<GroupedLinear>(ops.back().operation).adds_gradient = true;
    const ValueId offsets = experts.inputs[GroupedLinear::offsets],
                  narrow = add_made(ops, form, {experts.inputs[GroupedLinear::x], offsets}, {a}),
                  added = add_made(ops, form, {narrow, offsets}, {b});
    const operations::ResidualNorm sum{
        .adds = true, .branch_scale = low_rank->scale, .any_form = true};
    ops.push_back(Node{sum, {base, added, none, none}, {}, {last, none, none, none}, {}});
  }

  /// An operation behind the others; its result.
  ValueId add_made(std::vector<Node>& ops, operations::Operation operation,
                   std::vector<ValueId> inputs, std::vector<ParameterId> parameters) {
    Node node{std::move(operation), std::move(inputs), std::move(parameters), {}, {}};
    node.outputs = {add_value(
        "narrow", operations::outputs_of(node.operation, model_.types_of(node)).front().type)};
    ops.push_back(std::move(node));
    return ops.back().outputs.front();
  }

  void add_before_router(std::vector<Node>& ops, Node& router) {
    const ParameterId weight = router.parameters[Router::weight];
    const LowRankOptions* const low_rank = of_weight(weight);
    if (!low_rank) return;
    const ParameterSpec& of = spec(weight.index);
    LowRank adapter{.parts = {{0, of.dims.front(), low_rank->rank, low_rank->scale}}};
    const std::vector<ParameterId> parameters = parameters_of({{weight.index, *low_rank}});
    Node node{std::move(adapter), {router.inputs[Router::x], none, none}, parameters, {}, {}};
    for (const operations::OutputSpec& o :
         operations::outputs_of(node.operation, model_.types_of(node)))
      node.outputs.push_back(add_value("router_" + std::string(o.name), o.type));
    router.inputs.resize(Router::added + 1, none);
    router.inputs[Router::added] = node.outputs[LowRank::y];
    ops.push_back(std::move(node));
  }

  const ParameterSpec& spec(int parameter) const {
    return model_.parameters[static_cast<std::size_t>(parameter)].spec;
  }

  std::vector<Part> parts_of(const Node& linear) const {
    const ParameterId weight = linear.parameters[Linear::weight];
    std::vector<Part> parts;
    for (int k = 0; k < weight.count; ++k)
      if (const auto at = options_.weights.find(spec(weight.index + k).name);
          at != options_.weights.end())
        parts.emplace_back(weight.index + k, at->second);
    return parts;
  }

  /// Of the layer's parts that have one.
  LowRank adapter_of(const Node& linear) {
    LowRank adapter{.parts = {}, .dropout = options_.dropout};
    const ParameterId weight = linear.parameters[Linear::weight];
    std::int64_t first = 0;
    for (int k = 0; k < weight.count; ++k) {
      const ParameterSpec& part = spec(weight.index + k);
      const std::int64_t width = part.dims.front();
      if (const auto at = options_.weights.find(part.name); at != options_.weights.end())
        adapter.parts.push_back({first, width, at->second.rank, at->second.scale});
      first += width;
    }
    return adapter;
  }

  /// `ops` ends with the layer.
  void add_behind(std::vector<Node>& ops, LowRank adapter) {
    auto& linear = std::get<Linear>(ops.back().operation);
    const Activation activation = std::exchange(linear.epilogue.activation, Activation::none);
    const ValueId x = ops.back().inputs[Linear::x];
    const std::vector<ValueId> outputs = ops.back().outputs;
    const ValueId last = outputs[Linear::y];
    const operations::TensorType type = value(last).type;
    const std::string name = value(last).name;
    const ValueId base = add_value(name + "_base", type);
    ops.back().outputs = {none, base};
    const bool drops = adapter.dropout > 0;
    if (drops) {
      adapter.first_site = site_;
      site_ += static_cast<int>(adapter.parts.size());
      if (site_ > 256) throw InternalError("a block has more dropouts than sites");
    }
    Node node{std::move(adapter), {x, base, drops ? model_.positions : none}, {}, {}, {}};
    node.parameters = parameters_of(parts_of(ops.back()));
    const auto made = operations::outputs_of(node.operation, model_.types_of(node));
    node.outputs = {add_value("narrow", made[LowRank::narrow].type), last};
    if (activation == Activation::none) {
      ops.push_back(std::move(node));
      return;
    }
    const ValueId sum = outputs[Linear::preactivation] == none ? add_value(name + "_sum", type)
                                                               : outputs[Linear::preactivation];
    node.outputs[LowRank::y] = sum;
    ops.push_back(std::move(node));
    ops.push_back(
        Node{operations::ActivationLayer{.activation = activation}, {sum}, {}, {last}, {}});
  }

  std::vector<ParameterId> parameters_of(const std::vector<Part>& parts) {
    std::vector<ParameterId> all(LowRank::first_b);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const auto& [weight, low_rank] = parts[k];
      const std::int64_t in = spec(weight).dims.at(1);
      // torch's nn.Linear: uniform, by kaiming_uniform_ with a = sqrt(5)
      ParameterSpec a{.name = low_rank_a(low_rank.module),
                      .dims = {low_rank.rank, in},
                      .decay = true,
                      .initializer = Initializer::uniform,
                      .bound = 1 / std::sqrt(static_cast<double>(in)),
                      .of_adapter = true};
      const int id = add_parameter(std::move(a), k > 0);
      if (k == 0) all[LowRank::a] = {id, static_cast<int>(parts.size())};
    }
    for (const auto& [weight, low_rank] : parts) {
      const ParameterSpec& of = spec(weight);
      ParameterSpec b{.name = low_rank_b(low_rank.module),
                      .dims = {of.dims.front(), low_rank.rank},
                      .decay = true,
                      .of_adapter = true,
                      .by_token = of.by_token,
                      .saved_heads = of.saved_heads};
      if (!of.saved_dims.empty())
        b.saved_dims = {of.saved_dims[of.saved_transposed ? 1 : 0], low_rank.rank};
      all.push_back({add_parameter(std::move(b), false)});
    }
    return all;
  }

  ModelValue& value(ValueId v) { return model_.values[static_cast<std::size_t>(v)]; }
  ValueId add_value(std::string name, operations::TensorType type) {
    model_.values.push_back({std::move(name), std::move(type)});
    return static_cast<ValueId>(model_.values.size()) - 1;
  }
  int add_parameter(ParameterSpec spec, bool continues) {
    model_.parameters.push_back({std::move(spec), "", continues});
    return static_cast<int>(model_.parameters.size()) - 1;
  }

  Model& model_;
  const AdapterOptions& options_;
  int site_ = first_adapter_site;
};

}  // namespace

void add_adapters(Model& model, const GraphPassOptions& options) {
  if (options.adapter) Adapting(model, options.adapter).run();
}

}  // namespace trainx::graph
