#include "model/autograd_block.hpp"
#include "core/error.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>

namespace trainx::model {

using program::How;
using program::Op;
using program::Role;
using program::Slot;

AutogradBlock::AutogradBlock(const program::ModelGraph& graph, const program::BlockSpec& spec,
                             AutogradEnds ends, AutogradFunction function)
    : ends_(std::move(ends)), function_(std::move(function)) {
  for (const AutogradEnds::Pair& group : ends_.groups)
    tensors_.push_back(
        static_cast<int>(graph.groups.at(spec.slots.at(group.slot).index).parameters.size()));
}

AutogradInputs AutogradBlock::inputs(const BlockContext& c, bool with_gradients) const {
  auto leaf = [&](const at::Tensor& t) { return t.detach().requires_grad_(with_gradients); };
  AutogradInputs in{c, {}, {}};
  for (const AutogradEnds::Pair& value : ends_.values_in) in.values.push_back(leaf(c[value.slot]));
  for (std::size_t g = 0; g < ends_.groups.size(); ++g) {
    auto& tensors = in.parameters.emplace_back();
    for (int i = 0; i < tensors_[g]; ++i)
      tensors.push_back(leaf(c.tensor(ends_.groups[g].slot, i)));
  }
  return in;
}

void AutogradBlock::forward(BlockContext& c) {
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> outputs = function_(inputs(c, false));
  for (std::size_t i = 0; i < ends_.values_out.size(); ++i)
    if (c.writes(ends_.values_out[i].slot))
      c[ends_.values_out[i].slot].copy_(outputs.at(i).view(c[ends_.values_out[i].slot].sizes()));
}

namespace {

/// The gradient of a leaf goes to `to`: added where `add` says so.
void deliver(const at::Tensor& to, const at::Tensor& leaf, bool add) {
  const at::Tensor gradient = leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf);
  if (add)
    to.add_(gradient);
  else
    to.copy_(gradient);
}

}  // namespace

void AutogradBlock::backward(BlockContext& c) {
  const at::AutoGradMode with_gradients(true);
  const AutogradInputs in = inputs(c, true);
  const std::vector<at::Tensor> outputs = function_(in);
  // its gradient with respect to an output is that output's gradient
  at::Tensor product;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor term =
        (outputs[i] * c[ends_.values_out.at(i).gradient].detach().view(outputs[i].sizes())).sum();
    product = product.defined() ? product + term : term;
  }
  product.backward();
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    const Slot slot = ends_.values_in[i].gradient;
    if (slot != program::none) deliver(c[slot], in.values[i], c.modifies(slot));
  }
  for (std::size_t g = 0; g < in.parameters.size(); ++g)
    for (int i = 0; i < tensors_[g]; ++i)
      deliver(c.tensor(ends_.groups[g].gradient, i), in.parameters[g][i],
              c.accumulates(ends_.groups[g].gradient));
}

program::BlockSpec autograd_spec(const program::BlockSpec& block, const AutogradEnds& ends) {
  program::BlockSpec made{block.name, block.layer, block.slots, {}};
  const program::Phase &forward = block.phases.at(Op::forward),
                       &backward = block.phases.at(Op::backward);
  std::vector<Slot> read;
  program::Phase& f = made.phases[Op::forward];
  program::Phase& b = made.phases[Op::backward];
  for (const program::SlotUse& u : forward.uses)
    if (u.how == How::read) {
      f.uses.push_back(u);
      b.uses.push_back(u);
      read.push_back(u.slot);
    }
  for (const program::SlotUse& u : forward.uses)
    if (u.how != How::read && block.slots[u.slot].role == Role::value) {
      f.uses.push_back(u);
      made.slots[u.slot].from = read;
    }
  auto is_gradient = [&](Slot s) {
    auto has = [s](const std::vector<AutogradEnds::Pair>& pairs) {
      return std::any_of(pairs.begin(), pairs.end(),
                         [s](const auto& p) { return p.gradient == s; });
    };
    return has(ends.values_in) || has(ends.values_out) || has(ends.groups);
  };
  for (const program::SlotUse& u : backward.uses)
    if (is_gradient(u.slot)) b.uses.push_back(u);
  f.gemms = forward.gemms;
  f.attention_flops = forward.attention_flops;
  b.gemms = backward.gemms;  // and those of forward again
  b.gemms.insert(b.gemms.end(), forward.gemms.begin(), forward.gemms.end());
  b.attention_flops = backward.attention_flops + forward.attention_flops;
  return made;
}

}  // namespace trainx::model
