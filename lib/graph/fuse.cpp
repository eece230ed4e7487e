#include "graph/fuse.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include <algorithm>
#include <utility>

namespace trainx::graph {

using namespace operations;

namespace {

struct Producer {
  int block = none, op = none;
};

class Fusion {
 public:
  Fusion(Model& model, bool adds_in_products)
      : model_(model), adds_in_products_(model.gpu && adds_in_products) {}

  void run() {
    carry_sums();
    for (Block& block : model_.blocks)
      for (std::size_t k = 0; k + 1 < block.ops.size(); ++k) join_sum_and_norm(block, k);
    find_producers();
    for (Block& block : model_.blocks) {
      for (Node& op : block.ops) {
        if (auto* sum = std::get_if<ResidualNorm>(&op.operation); sum && sum->adds) {
          take_bias(op);
          see_through_norm(op, static_cast<int>(&block - model_.blocks.data()));
        }
        if (std::holds_alternative<Linear>(op.operation)) differentiate_activation(op);
        if (std::holds_alternative<Attention>(op.operation)) sum_bias(op);
      }
    }
    for (std::size_t b = 1; adds_in_products_ && b < model_.blocks.size(); ++b) add_in_product(b);
  }

 private:
  static bool is_sum(const Node& op) {
    const auto* r = std::get_if<ResidualNorm>(&op.operation);
    return r && r->adds && !r->norms;
  }
  static bool is_norm(const Node& op) {
    const auto* r = std::get_if<ResidualNorm>(&op.operation);
    return r && !r->adds;
  }

  /// The sum that ends a layer's block, and a norm behind it, begin the next block.
  void carry_sums() {
    for (std::size_t b = 0; b + 1 < model_.blocks.size(); ++b) {
      if (model_.blocks[b].kind != BlockKind::layer || model_.blocks[b].closes) continue;
      std::vector<Node>& ops = model_.blocks[b].ops;
      // the last: another may open the block
      const auto last = std::find_if(ops.rbegin(), ops.rend(), is_sum);
      if (last == ops.rend()) continue;
      const auto from = last.base() - 1;
      std::vector<Node>& next = model_.blocks[b + 1].ops;
      next.insert(next.begin(), std::make_move_iterator(from), std::make_move_iterator(ops.end()));
      ops.erase(from, ops.end());
    }
  }

  void find_producers() {
    producers_.assign(model_.values.size(), {});
    consumers_.assign(model_.values.size(), 0);
    for (std::size_t b = 0; b < model_.blocks.size(); ++b)
      for (std::size_t k = 0; k < model_.blocks[b].ops.size(); ++k) {
        const Node& op = model_.blocks[b].ops[k];
        for (const ValueId v : op.outputs)
          if (v != none)
            producers_[static_cast<std::size_t>(v)] = {static_cast<int>(b), static_cast<int>(k)};
        for (const ValueId v : op.inputs)
          if (v != none) ++consumers_[static_cast<std::size_t>(v)];
      }
  }

  Node* producer(ValueId v) {
    const Producer p = producers_[static_cast<std::size_t>(v)];
    return p.block == none ? nullptr
                           : &model_.blocks[static_cast<std::size_t>(p.block)]
                                  .ops[static_cast<std::size_t>(p.op)];
  }

  void join_sum_and_norm(Block& block, std::size_t k) {
    Node &sum = block.ops[k], &norm = block.ops[k + 1];
    if (!is_sum(sum) || !is_norm(norm) ||
        norm.inputs[ResidualNorm::residual] != sum.outputs[ResidualNorm::sum])
      return;
    auto& joined = std::get<ResidualNorm>(sum.operation);
    joined.norms = true;
    joined.epsilon = std::get<ResidualNorm>(norm.operation).epsilon;
    sum.parameters = norm.parameters;
    const ValueId residual = sum.outputs[ResidualNorm::sum];
    sum.outputs = norm.outputs;
    sum.outputs[ResidualNorm::sum] = residual;
    block.ops.erase(block.ops.begin() + static_cast<std::ptrdiff_t>(k) + 1);
  }

  /// The bias of the branch, if it is the last that its linear layer adds.
  void take_bias(Node& sum) {
    Node* linear = producer(sum.inputs[ResidualNorm::branch]);
    const auto* l = linear ? std::get_if<Linear>(&linear->operation) : nullptr;
    if (!l || l->activation != Activation::none || linear->parameters[Linear::bias].index == none)
      return;
    sum.parameters.resize(5);
    sum.parameters[ResidualNorm::bias] = std::exchange(linear->parameters[Linear::bias], {});
  }

  void see_through_norm(Node& sum, int block) {
    if (std::get<ResidualNorm>(sum.operation).any_form) return;  // its loops know no other norm
    const ValueId residual = sum.inputs[ResidualNorm::residual];
    const Node* norm = producer(residual);
    if (!norm || producers_[static_cast<std::size_t>(residual)].block == block) return;
    const auto* n = std::get_if<ResidualNorm>(&norm->operation);
    if (!n || !n->norms || !n->adds || norm->outputs[ResidualNorm::normed] != residual) return;
    sum.parameters.resize(5);
    sum.parameters[ResidualNorm::before_weight] = norm->parameters[ResidualNorm::weight];
    sum.parameters[ResidualNorm::before_shift] = norm->parameters[ResidualNorm::shift];
    sum.gradient_of.assign(sum.inputs.begin(), sum.inputs.end());
    sum.inputs[ResidualNorm::residual] = norm->outputs[ResidualNorm::sum];
  }

  void differentiate_activation(Node& op) {
    const ValueId x = op.inputs[Linear::x];
    Node* before = producer(x);
    auto* first = before ? std::get_if<Linear>(&before->operation) : nullptr;
    auto& second = std::get<Linear>(op.operation);
    if (!first || first->activation == Activation::none || is_in_place(first->activation) ||
        consumers_[static_cast<std::size_t>(x)] != 1 || second.logits)
      return;
    second.input_activation = first->activation;
    first->differentiated_behind = true;
    op.inputs[Linear::input_sum] = before->outputs[Linear::preactivation];
    op.parameters.resize(3);
    op.parameters[Linear::input_bias] = before->parameters[Linear::bias];
  }

  /// Kernels that write a gradient sum it at less than those that read it again.
  void sum_bias(Node& op) {
    auto& attention = std::get<Attention>(op.operation);
    const ValueId x = op.inputs[Attention::qkv];
    Node* before = producer(x);
    auto* linear = before ? std::get_if<Linear>(&before->operation) : nullptr;
    if (!model_.gpu || !linear || linear->activation != Activation::none ||
        before->parameters[Linear::bias].index == none ||
        consumers_[static_cast<std::size_t>(x)] != 1 || !attention.is_plain() ||
        attention.head_size != 64 || attention.mask == AttentionMask::documents ||
        !is_by_hopper(attention, model_.compute))
      return;
    attention.sums_bias = linear->summed_behind = true;
    op.parameters.resize(Attention::qkv_bias + 1);
    op.parameters[Attention::qkv_bias] = before->parameters[Linear::bias];
  }

  /// Does block `b` begin with the norm of value `v` of an earlier one?
  bool begins_with_norm_of(std::size_t b, ValueId v) {
    const std::vector<Node>& ops = model_.blocks[b].ops;
    return !ops.empty() && is_norm(ops.front()) && ops.front().gradient_of.empty() &&
           ops.front().inputs[ResidualNorm::residual] == v;
  }

  bool is_trained(const ParameterId& p) const {
    return model_.parameters[static_cast<std::size_t>(p.index)].training.trained;
  }

  /// A product adds what it reads beside its work; a norm would read the sum's parts, and write it.
  void add_in_product(std::size_t b) {
    Block& block = model_.blocks[b];
    if (block.ops.empty() || (block.kind == BlockKind::head && model_.head.rows != HeadRows::all))
      return;
    Node& op = block.ops.front();
    auto* norm = std::get_if<ResidualNorm>(&op.operation);
    if (!norm || !norm->adds || !norm->norms || norm->dropout > 0 || norm->scales() ||
        !op.gradient_of.empty())
      return;
    const ValueId y = op.inputs[ResidualNorm::branch], h = op.inputs[ResidualNorm::residual],
                  sum = op.outputs[ResidualNorm::sum];
    Node* before = producer(y);
    auto* linear = before ? std::get_if<Linear>(&before->operation) : nullptr;
    if (!linear || producers_[static_cast<std::size_t>(y)].block + 1 != static_cast<int>(b) ||
        linear->activation != Activation::none || linear->logits ||
        consumers_[static_cast<std::size_t>(y)] != 1 || !begins_with_norm_of(b - 1, h))
      return;
    const bool is_biased = op.parameters.size() > ResidualNorm::bias &&
                           op.parameters[ResidualNorm::bias].index != none;
    // else nothing but the norm behind it would read the gradient of y
    if (is_biased && !is_trained(before->parameters[Linear::weight])) return;
    before->inputs.resize(Linear::residual + 1, none);
    before->inputs[Linear::residual] = h;
    if (is_biased) before->parameters[Linear::bias] = op.parameters[ResidualNorm::bias];
    linear->summed_behind = is_biased;
    norm->adds = false;
    norm->sum_continues = true;
    op.inputs = {y, none, none, none};
    op.outputs[ResidualNorm::sum] = none;
    std::swap(model_.values[static_cast<std::size_t>(y)].name,
              model_.values[static_cast<std::size_t>(sum)].name);
    for (std::size_t later = b; later < model_.blocks.size(); ++later)
      for (Node& reader : model_.blocks[later].ops)
        for (auto* values : {&reader.inputs, &reader.gradient_of})
          std::ranges::replace(*values, sum, y);
  }

  Model& model_;
  bool adds_in_products_;
  std::vector<Producer> producers_;  // by value
  std::vector<int> consumers_;
};

}  // namespace

void fuse(Model& model, bool adds_in_products) { Fusion(model, adds_in_products).run(); }

}  // namespace trainx::graph
