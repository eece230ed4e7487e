#include "graph/quantize_products.hpp"
#include "core/error.hpp"
#include "graph/model.hpp"
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace trainx::graph {

using operations::Linear;
using operations::Quantize;

namespace {

class Quantizing {
 public:
  Quantizing(Model& model, Fp8Layers layers) : model_(model), layers_(layers) {
    for (const Block& block : model.blocks)
      if (is_layer(block)) {
        first_ = std::min(first_, block.layer);
        last_ = std::max(last_, block.layer);
      }
  }

  void run() {
    for (Block& block : model_.blocks)
      if (is_layer(block) &&
          (layers_ == Fp8Layers::all || (block.layer != first_ && block.layer != last_)))
        quantize(block);
    number_by_position();
  }

 private:
  static bool is_layer(const Block& block) {
    return block.kind == BlockKind::layer && block.layer != none;
  }

  void quantize(Block& block) {
    // values that weights' gradients are made of: a GPU reads them transposed
    std::set<ValueId> transposed;
    for (const Node& op : block.ops)
      if (model_.gpu && std::holds_alternative<Linear>(op.operation) && multiplies_fp8(op) &&
          model_.types_of(op).trains(Linear::weight))
        transposed.insert(op.inputs[Linear::x]);
    std::vector<Node> ops;
    std::map<ValueId, std::vector<ValueId>> known;  // by value: its fp8 values and their scale
    for (Node& op : block.ops) {
      if (std::holds_alternative<operations::GroupedLinear>(op.operation))
        throw UserError(ExitCode::invalid_recipe,
                        "precision.products: fp8 does not reach experts, whose products take most "
                        "of a step: leave it out for a mixture of experts");
      if (auto* linear = std::get_if<Linear>(&op.operation); linear && multiplies_fp8(op)) {
        const ValueId x = op.inputs[Linear::x];
        if (!known.contains(x)) known[x] = add_quantize(ops, x, transposed.contains(x));
        const std::vector<ValueId>& made = known[x];
        linear->fp8 = true;
        op.inputs.resize(made.size() > Quantize::transposed ? Linear::input_transposed + 1
                                                            : Linear::input_scale + 1,
                         none);
        op.inputs[Linear::x] = made[Quantize::values];
        op.inputs[Linear::input_scale] = made[Quantize::scale];
        if (made.size() > Quantize::transposed)
          op.inputs[Linear::input_transposed] = made[Quantize::transposed];
        op.gradient_of = op.inputs;
        op.gradient_of[Linear::x] = x;
      }
      ops.push_back(std::move(op));
    }
    block.ops = std::move(ops);
  }

  /// Of a linear layer.
  bool multiplies_fp8(const Node& op) const {
    return !model_.gpu || operations::gpu_multiplies_fp8(model_.types_of(op));
  }

  std::vector<ValueId> add_quantize(std::vector<Node>& ops, ValueId x, bool transposes) {
    Node& node = ops.emplace_back(Node{Quantize{.transposes = transposes}, {x}, {}, {}, {}});
    const std::string before = model_.values[static_cast<std::size_t>(x)].name + "_";
    for (const operations::OutputSpec& o :
         operations::outputs_of(node.operation, model_.types_of(node))) {
      node.outputs.push_back(static_cast<ValueId>(model_.values.size()));
      model_.values.push_back({before + std::string(o.name), o.type});
    }
    return node.outputs;
  }

  /// Numbers values as operations make them, so that layers that are alike differ by a constant
  /// number (repetition.hpp).
  void number_by_position() {
    std::vector<ValueId> now(model_.values.size(), none);
    std::vector<ModelValue> values;
    const auto keep = [&](ValueId v) {
      if (v == none || now[static_cast<std::size_t>(v)] != none) return;
      now[static_cast<std::size_t>(v)] = static_cast<ValueId>(values.size());
      values.push_back(model_.values[static_cast<std::size_t>(v)]);
    };
    std::vector<char> made(model_.values.size());
    for (const Block& block : model_.blocks)
      for (const Node& op : block.ops)
        for (const ValueId v : op.outputs)
          if (v != none) made[static_cast<std::size_t>(v)] = true;
    for (std::size_t v = 0; v < made.size(); ++v)
      if (!made[v]) keep(static_cast<ValueId>(v));  // the batch's, and what is read no more
    for (const Block& block : model_.blocks)
      for (const Node& op : block.ops)
        for (const ValueId v : op.outputs) keep(v);
    model_.values = std::move(values);
    const auto renumber = [&](ValueId& v) {
      if (v != none) v = now[static_cast<std::size_t>(v)];
    };
    for (Block& block : model_.blocks)
      for (Node& op : block.ops)
        for (auto* list : {&op.inputs, &op.outputs, &op.gradient_of})
          std::ranges::for_each(*list, renumber);
    renumber(model_.positions);
    renumber(model_.memory);
    renumber(model_.head.targets);
  }

  Model& model_;
  Fp8Layers layers_;
  int first_ = std::numeric_limits<int>::max(), last_ = none;
};

}  // namespace

void quantize_products(Model& model, Fp8Layers layers) {
  if (layers != Fp8Layers::off) Quantizing(model, layers).run();
}

}  // namespace trainx::graph
