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
  explicit Fusion(Model& model) : model_(model) {}

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

  Model& model_;
  std::vector<Producer> producers_;  // by value
  std::vector<int> consumers_;
};

}  // namespace

void fuse(Model& model) { Fusion(model).run(); }

}  // namespace trainx::graph
