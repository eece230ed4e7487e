#include "core/error.hpp"
#include "graph/model.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/number_values.hpp"
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace trainx::graph {

using operations::Activated;
using operations::Fp8Scaling;
using operations::Fp8WeightCasts;
using operations::Linear;
using operations::Quantize;

namespace {

class Quantizing {
 public:
  Quantizing(Model& model, const Fp8Options& options) : model_(model), options_(options) {
    if (options.costs) gains_.emplace(*options.costs);
    for (const Block& block : model.blocks)
      if (is_layer(block)) {
        first_ = std::min(first_, block.layer);
        last_ = std::max(last_, block.layer);
      }
  }

  void run() {
    for (std::size_t b = 0; b < model_.blocks.size(); ++b)
      if (Block& block = model_.blocks[b];
          is_layer(block) &&
          (options_.layers == Fp8Layers::all || (block.layer != first_ && block.layer != last_)))
        quantize(block, block.cast_number != none ? block.cast_number : static_cast<int>(b));
    number_values(model_);
    if (options_.weight_casts == Fp8WeightCasts::before_gathers) cast_before_gathers();
    if (options_.weight_casts == Fp8WeightCasts::once_a_run && options_.copies_suffice)
      mark_only_cast();
    if (std::ranges::all_of(model_.fp8_products, &Fp8Product::left_out)) return;
    const bool delayed = options_.scaling == Fp8Scaling::delayed;
    const auto dims = [&](std::int64_t of_tensor) {
      return std::vector<std::int64_t>{operations::fp8_classes, blocks_counted(), most_, of_tensor};
    };
    model_.fp8_counts = program::metric(
        std::string(program::fp8_counts),
        dims(operations::fp8_count_kinds + (delayed ? operations::fp8_exponents : 0)));
    if (!delayed) return;
    model_.fp8_ranges = program::scalar(program::Role::fp8_ranges);
    model_.fp8_ranges->dims = dims(operations::fp8_range_state);
  }

 private:
  /// Parts of a block count as one.
  std::int64_t blocks_counted() const {
    std::int64_t count = 0;
    for (std::size_t b = 0; b < model_.blocks.size(); ++b) {
      const int number = model_.blocks[b].cast_number;
      count = std::max(count, std::int64_t{1} + (number != none ? number : static_cast<int>(b)));
    }
    return count;
  }

  static bool is_layer(const Block& block) {
    return block.kind == BlockKind::layer && block.layer != none;
  }

  void quantize(Block& block, int at) {
    if (gains_)
      for (const std::size_t op : gains_->without(model_, block, options_.scaling))
        gain_nothing_.insert(name_of_weight(block.ops[op]));
    // values that weights' gradients are made of: a GPU reads them transposed, and scales of blocks
    // belong to vectors of columns there
    std::set<ValueId> transposed;
    for (const Node& op : block.ops)
      if ((model_.gpu || blocks()) && std::holds_alternative<Linear>(op.operation) &&
          multiplies_fp8(op) && !is_left_out(op) && model_.types_of(op).trains(Linear::weight))
        transposed.insert(op.inputs[Linear::x]);
    std::vector<Node> ops;
    std::map<ValueId, std::vector<ValueId>> known;  // by value: its fp8 values and their scale
    std::map<ValueId, int>& inputs = inputs_[at];   // numbers of those that layers read
    int& linears = linears_[at];
    for (Node& op : block.ops) {
      if (std::holds_alternative<operations::GroupedLinear>(op.operation))
        throw UserError(ExitCode::invalid_recipe,
                        "precision.products: fp8 does not reach experts, whose products take most "
                        "of a step: leave it out for a mixture of experts");
      if (auto* linear = std::get_if<Linear>(&op.operation); linear && multiplies_fp8(op)) {
        const ValueId x = op.inputs[Linear::x];
        const int input = inputs.try_emplace(x, static_cast<int>(inputs.size())).first->second;
        const int number = linears++;
        model_.fp8_products.push_back({name_of_weight(op), at, input, number, is_left_out(op),
                                       gain_nothing_.contains(name_of_weight(op))});
        weights_.push_back(op.parameters[Linear::weight]);
        if (is_left_out(op)) {
          ops.push_back(std::move(op));
          continue;
        }
        if (!known.contains(x)) {
          Quantize cast{
              .scaling = options_.scaling, .number = input, .transposes = transposed.contains(x)};
          ValueId from = x;
          if (Node* before = activation_before(ops, op)) {
            operations::Epilogue& first = std::get<Linear>(before->operation).epilogue;
            cast.activation = first.activation;
            first.activated = Activated::in_casts;
            from = before->outputs[Linear::preactivation];
            linear->input_activation = operations::Activation::none;
            op.inputs[Linear::input_sum] = none;
            op.parameters.resize(Linear::input_bias);
          }
          if (Node* gate = gate_before(ops, x)) {
            auto& gated = std::get<operations::Gated>(gate->operation);
            cast.activation = gated.activation;
            cast.gated = gated.computed_behind = true;
            from = gate->inputs[operations::Gated::x];
            if (Node* before = gated_linear(ops, from)) join(ops, *before, *gate);
          }
          known[x] = add_quantize(ops, x, from, cast);
        }
        const std::vector<ValueId>& made = known[x];
        linear->fp8 = {.number = number,
                       .scaling = options_.scaling,
                       .weight_is_frozen = !model_.types_of(op).trains(Linear::weight)};
        linear->fp8->weight_casts = casts_of(linear->fp8->weight_is_frozen);
        op.inputs.resize(made.size() > Quantize::transposed_scale
                             ? Linear::input_transposed_scale + 1
                         : made.size() > Quantize::transposed ? Linear::input_transposed + 1
                                                              : Linear::input_scale + 1,
                         none);
        op.inputs[Linear::x] = made[Quantize::values];
        op.inputs[Linear::input_scale] = made[Quantize::scale];
        if (made.size() > Quantize::transposed)
          op.inputs[Linear::input_transposed] = made[Quantize::transposed];
        if (made.size() > Quantize::transposed_scale)
          op.inputs[Linear::input_transposed_scale] = made[Quantize::transposed_scale];
        op.gradient_of = op.inputs;
        op.gradient_of[Linear::x] = x;
      }
      ops.push_back(std::move(op));
    }
    block.ops = std::move(ops);
    most_ = std::max({most_, static_cast<int>(inputs.size()), linears});
  }

  /// Of a weight. before_gathers: which these are is known when all products are.
  Fp8WeightCasts casts_of(bool is_frozen) const {
    switch (options_.weight_casts) {
      case Fp8WeightCasts::once_a_step: return Fp8WeightCasts::once_a_step;
      case Fp8WeightCasts::once_a_run:
        return is_frozen ? Fp8WeightCasts::once_a_run : Fp8WeightCasts::once_a_step;
      case Fp8WeightCasts::in_each_use:
      case Fp8WeightCasts::before_gathers: break;
    }
    return Fp8WeightCasts::in_each_use;
  }
  bool blocks() const { return options_.scaling == Fp8Scaling::blocks; }
  const std::string& name_of_weight(const Node& linear) const {
    const ParameterId weight = linear.parameters[Linear::weight];
    return model_.parameters[static_cast<std::size_t>(weight.index)].spec.name;
  }
  bool is_left_out(const Node& linear) const {
    return options_.left_out.contains(name_of_weight(linear)) ||
           gain_nothing_.contains(name_of_weight(linear));
  }

  /// The linear layer in fp8 whose activation is the input of `op`, where a GPU computes that, and
  /// its derivative, as it casts the one and its gradient.
  Node* activation_before(std::vector<Node>& ops, const Node& op) const {
    const auto& second = std::get<Linear>(op.operation);
    if (!model_.gpu || !operations::casts_activation(second.input_activation, model_.compute))
      return nullptr;
    for (Node& before : ops)
      if (auto* first = std::get_if<Linear>(&before.operation);
          first && first->fp8 && first->epilogue.activation == second.input_activation &&
          before.outputs[Linear::y] == op.inputs[Linear::x])
        return &before;
    return nullptr;
  }

  /// How many inputs of operations `v` is. In a block at hand some stand in `ops` already.
  std::int64_t readers(const std::vector<Node>& ops, ValueId v) const {
    std::int64_t all = 0;
    for (const Node& op : ops) all += std::ranges::count(op.inputs, v);
    for (const Block& block : model_.blocks)
      for (const Node& op : block.ops) all += std::ranges::count(op.inputs, v);
    return all;
  }

  /// The gate that makes `x`, where nothing but this product reads that and a GPU computes it as it
  /// casts.
  Node* gate_before(std::vector<Node>& ops, ValueId x) const {
    for (Node& before : ops)
      if (const auto* gated = std::get_if<operations::Gated>(&before.operation);
          gated && before.outputs[operations::Gated::y] == x && readers(ops, x) == 1 &&
          model_.gpu && operations::casts_gate(gated->activation, model_.compute) &&
          model_.values[static_cast<std::size_t>(x)].type.columns() %
                  operations::gpu_fp8_multiple ==
              0)
        return &before;
    return nullptr;
  }

  /// The linear layer in fp8 that makes `sums`, where a GPU casts the gradient of a gate of them as
  /// it computes it. Where the scale is that of the step's own values they are computed twice,
  /// which takes longer than to keep them.
  Node* gated_linear(std::vector<Node>& ops, ValueId sums) const {
    if (options_.scaling == Fp8Scaling::current) return nullptr;
    for (Node& before : ops)
      if (auto* linear = std::get_if<Linear>(&before.operation);
          linear && linear->fp8 && !linear->epilogue.activates() &&
          before.outputs[Linear::y] == sums && model_.types_of(before).trains(Linear::weight) &&
          readers(ops, sums) == 1)
        return &before;
    return nullptr;
  }
  /// The gate becomes the linear layer's activation.
  static void join(std::vector<Node>& ops, Node& linear, const Node& gate) {
    std::get<Linear>(linear.operation).epilogue = {
        .activation = std::get<operations::Gated>(gate.operation).activation,
        .activated = Activated::gated_in_casts};
    linear.outputs = {linear.outputs[Linear::y], gate.outputs[operations::Gated::y]};
    ops.erase(ops.begin() + (&gate - ops.data()));
  }

  /// Of a linear layer.
  bool multiplies_fp8(const Node& op) const {
    return !model_.gpu || operations::gpu_multiplies_fp8(model_.types_of(op));
  }

  /// `x`: the value that is cast, made of `from`.
  std::vector<ValueId> add_quantize(std::vector<Node>& ops, ValueId x, ValueId from,
                                    const Quantize& cast) {
    Node& node = ops.emplace_back(Node{cast, {from}, {}, {}, {}});
    const std::string before = model_.values[static_cast<std::size_t>(x)].name + "_";
    for (const operations::OutputSpec& o :
         operations::outputs_of(node.operation, model_.types_of(node))) {
      node.outputs.push_back(static_cast<ValueId>(model_.values.size()));
      model_.values.push_back({before + std::string(o.name), o.type});
    }
    return node.outputs;
  }

  template <class Visit>
  void each_weight(const ParameterId& weight, const Visit& visit) {
    for (int k = 0; k < weight.count; ++k)
      visit(model_.parameters[static_cast<std::size_t>(weight.index + k)]);
  }
  /// By parameter: how many operands of operations it is.
  std::vector<int> count_uses() const {
    std::vector<int> uses(model_.parameters.size());
    for (const Block& block : model_.blocks)
      for (const Node& op : block.ops)
        for (const ParameterId& p : op.parameters)
          for (int k = 0; p.index != none && k < p.count; ++k)
            ++uses[static_cast<std::size_t>(p.index + k)];
    return uses;
  }

  /// Weights of which a run reads nothing but copies that it makes once.
  void mark_only_cast() {
    const std::vector<int> uses = count_uses();
    std::vector<int> casts(model_.parameters.size());
    const auto each_cast = [&](const auto& visit) {
      for (const Block& block : model_.blocks)
        for (const Node& op : block.ops)
          if (const auto* linear = std::get_if<Linear>(&op.operation);
              linear && linear->fp8 && linear->fp8->casts_once_a_run())
            visit(op.parameters[Linear::weight]);
    };
    each_cast([&](const ParameterId& weight) {
      for (int k = 0; k < weight.count; ++k) ++casts[static_cast<std::size_t>(weight.index + k)];
    });
    each_cast([&](const ParameterId& weight) {
      bool alone = true;
      for (int k = 0; k < weight.count; ++k) {
        const auto p = static_cast<std::size_t>(weight.index + k);
        alone &= uses[p] == casts[p] && model_.parameters[p].group.empty();
      }
      if (alone) each_weight(weight, [](ModelParameter& p) { p.only_cast = true; });
    });
  }

  /// Weights that nothing but products reads get scales of their own. A block takes them in fp8
  /// where it takes all of its own so, and so do all blocks that share one of them.
  void cast_before_gathers() {
    const std::vector<int> uses = count_uses();
    std::vector<int> of_products(model_.parameters.size());
    for (const ParameterId& weight : weights_)
      for (int k = 0; k < weight.count; ++k)
        ++of_products[static_cast<std::size_t>(weight.index + k)];
    std::vector<char> takes(model_.blocks.size(), true);
    for (std::size_t n = 0; n < weights_.size(); ++n) {
      const Fp8Product& product = model_.fp8_products[n];
      bool is_apart = true;
      for (int k = 0; k < weights_[n].count; ++k) {
        const auto p = static_cast<std::size_t>(weights_[n].index + k);
        is_apart &= uses[p] == of_products[p] && model_.parameters[p].group.empty();
      }
      if (!is_apart || product.left_out) takes[static_cast<std::size_t>(product.block)] = false;
      if (!is_apart) continue;
      each_weight(weights_[n], [&](ModelParameter& p) {
        if (p.spec.fp8_scale == none) p.spec.fp8_scale = product.block * most_ + product.number;
        p.in_fp8 = true;
      });
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t n = 0; n < weights_.size(); ++n)
        each_weight(weights_[n], [&](ModelParameter& p) {
          char& taken = takes[static_cast<std::size_t>(model_.fp8_products[n].block)];
          const bool both = p.in_fp8 && taken;
          changed = changed || p.in_fp8 != both || taken != static_cast<char>(both);
          p.in_fp8 = both, taken = both;
        });
    }
    bool any = false;
    for (std::size_t b = 0; b < model_.blocks.size(); ++b)
      for (Node& op : model_.blocks[b].ops)
        if (auto* linear = std::get_if<Linear>(&op.operation); linear && linear->fp8 && takes[b]) {
          linear->fp8->weight_casts = Fp8WeightCasts::before_gathers;
          any = true;
        }
    if (any)
      model_.fp8_scales = {{std::string(name_of(program::Role::fp8_scales)),
                            DType::f32,
                            {std::ssize(model_.blocks) * most_, program::fp8_scale_stride}},
                           program::Role::fp8_scales};
  }

  Model& model_;
  const Fp8Options& options_;
  std::optional<Fp8Gains> gains_;
  std::set<std::string> gain_nothing_;            // by names of weights
  std::vector<ParameterId> weights_;              // of Model::fp8_products
  std::map<int, std::map<ValueId, int>> inputs_;  // by block that counts
  std::map<int, int> linears_;
  int first_ = std::numeric_limits<int>::max(), last_ = none;
  int most_ = 0;  // tensors of a class that a block casts
};

}  // namespace

void quantize(Model& model, const GraphPassOptions& options) {
  if (options.fp8.layers != Fp8Layers::off && options.tensor_ranks == 1)
    Quantizing(model, options.fp8).run();
}

void quantize_parts(Model& model, const GraphPassOptions& options) {
  if (options.fp8.layers != Fp8Layers::off && options.tensor_ranks > 1)
    Quantizing(model, options.fp8).run();
}

}  // namespace trainx::graph
