#include "model/custom/module_block.hpp"
#include "core/error.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "model/custom/shape_text.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <algorithm>

namespace trainx::model::custom {

using architectures::ModuleSlot;
using tensor::torch_view;

namespace {

std::uint64_t mix(std::uint64_t h) {  // the finalizer of MurmurHash3
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

std::uint64_t draw_seed(const BlockContext& c) {
  const tensor::RandomKey key = c.random_key(0);
  const auto* positions = c[ModuleSlot::positions].as<const std::int64_t>();
  return mix(mix(key.seed + 0x9e3779b97f4a7c15 * (key.block + 1)) ^
             static_cast<std::uint64_t>(positions[0]));
}

[[noreturn]] void refuse(const std::string& module, const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "module '" + module + "': " + sentence);
}

}  // namespace

ModuleBlock::ModuleBlock(Module module, DType compute) : module_(std::move(module)) {
  const at::ScalarType type = tensor::scalar_type(compute);
  const at::NoGradGuard no_gradients;
  for (const bool matrices : {true, false})
    for (const Module::NamedTensor& p : module_.parameters)
      if ((p.tensor.dim() >= 2) == matrices) parameters_.push_back(p.tensor);
  for (at::Tensor& p : parameters_) p.set_data(at::empty({0}, p.options().dtype(type)));
  for (Module::NamedTensor& b : module_.buffers)
    if (b.tensor.is_floating_point() && b.tensor.scalar_type() != type)
      b.tensor.set_data(b.tensor.to(type));
}

void ModuleBlock::use_parameters(const BlockContext& c) {
  const at::NoGradGuard no_gradients;
  int index = 0;
  for (at::Tensor& parameter : parameters_) {
    const at::Tensor view = torch_view(c.tensor(ModuleSlot::parameters, index++));
    if (parameter.const_data_ptr() != view.const_data_ptr()) parameter.set_data(view);
  }
}

at::Tensor ModuleBlock::run(const BlockContext& c, bool with_gradients) {
  use_parameters(c);
  const bool tokens = c[ModuleSlot::input].dtype == DType::i32;
  const at::Tensor operand = torch_view(c[ModuleSlot::input]),
                   input = tokens ? operand.to(at::kLong) : operand;
  if (with_gradients && !tokens) input.requires_grad_(true);
  if (with_gradients) input_ = input;
  module_.set_training(c.training());
  if (c.training()) seed_generator(draw_seed(c));
  try {
    const at::AutoGradMode mode(with_gradients);
    return module_.forward(input);
  } catch (const c10::Error& e) {
    refuse(module_.name,
           "forward fails on " + shape_of(input.sizes()) + ": " + e.what_without_backtrace());
  }
}

void ModuleBlock::forward(BlockContext& c) {
  const bool keeps = c.has(ModuleSlot::graph);
  at::Tensor output = run(c, keeps);
  if (c.writes(ModuleSlot::value_out)) {
    const at::Tensor to = torch_view(c[ModuleSlot::value_out]);
    if (output.sizes() != to.sizes())
      refuse(module_.name, "returned " + shape_of(output.sizes()) + " where it returned " +
                               shape_of(to.sizes()) + " when it was described");
    const at::NoGradGuard no_gradients;
    to.copy_(output);
  }
  if (keeps) output_ = std::move(output);
}

void ModuleBlock::deliver_gradients(BlockContext& c) {
  const at::NoGradGuard no_gradients;
  const auto take = [](const at::Tensor& to, at::Tensor& leaf, bool add) {
    at::Tensor& gradient = leaf.mutable_grad();
    if (!gradient.defined()) {  // the output does not depend on it
      if (!add) to.zero_();
      return;
    }
    if (add)
      to.add_(gradient);
    else
      to.copy_(gradient);
    gradient.reset();
  };
  if (c.has(ModuleSlot::d_input)) take(torch_view(c[ModuleSlot::d_input]), input_, false);
  if (c.has(ModuleSlot::d_parameters)) {
    int index = 0;
    for (at::Tensor& p : parameters_)
      take(torch_view(c.tensor(ModuleSlot::d_parameters, index++)), p,
           c.accumulates(ModuleSlot::d_parameters));
  }
  input_.reset();
  output_.reset();
}

void ModuleBlock::backward(BlockContext& c) {
  if (!output_.defined())
    throw InternalError("module '" + module_.name + "': backward without a graph");
  if (output_.requires_grad())
    output_.backward(torch_view(c[ModuleSlot::d_value_out]).to(output_.scalar_type()));
  deliver_gradients(c);
}

at::Tensor LossBlock::logits(const BlockContext& c, bool with_gradients) {
  at::Tensor logits = run(c, with_gradients);
  const std::int64_t targets = c[ModuleSlot::targets].numel();
  if (logits.dim() < 2 || logits.numel() / logits.size(-1) != targets)
    refuse(module_.name, "the last module returned " + shape_of(logits.sizes()) +
                             ", no logits of " +
                             shape_of(torch_view(c[ModuleSlot::targets]).sizes()) + " targets");
  const at::AutoGradMode mode(with_gradients);
  return logits.reshape({targets, -1}).to(at::kFloat);
}

at::Tensor LossBlock::summed_loss(BlockContext& c, const at::Tensor& logits) const {
  const at::Tensor targets = torch_view(c[ModuleSlot::targets]).to(at::kLong).view({-1});
  auto& count = *c[ModuleSlot::target_count].as<double>();
  count = (c.accumulates(ModuleSlot::target_count) ? count : 0.0) +
          static_cast<double>(
              (targets != std::int64_t{operations::no_target}).sum().item<std::int64_t>());
  const at::AutoGradMode mode(logits.requires_grad());
  const at::Tensor sum =
      at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, operations::no_target);
  auto& loss = *c[ModuleSlot::loss_sum].as<double>();
  loss = (c.accumulates(ModuleSlot::loss_sum) ? loss : 0.0) + sum.item<double>();
  return sum;
}

void LossBlock::loss(BlockContext& c) {
  const at::Tensor sum = summed_loss(c, logits(c, true));
  if (sum.requires_grad()) sum.backward(at::full({}, c.loss_seed(), sum.options()));
  deliver_gradients(c);
}

void LossBlock::evaluate(BlockContext& c) {
  const at::Tensor logits = this->logits(c, false);
  summed_loss(c, logits);
  if (!c.has(ModuleSlot::confusion)) return;
  const Tensor& confusion = c[ModuleSlot::confusion];
  if (!c.accumulates(ModuleSlot::confusion)) torch_view(confusion).zero_();
  const at::Tensor predicted = logits.argmax(-1);
  const auto* labels = c[ModuleSlot::targets].as<std::int32_t>();
  for (std::int64_t b = 0; b < predicted.numel(); ++b)
    if (labels[b] != operations::no_target)
      ++confusion.as<double>()[labels[b] * confusion.size(1) +
                               predicted.const_data_ptr<std::int64_t>()[b]];
}

Blocks build_module_blocks(const architectures::CustomDims& dims,
                           const program::ModelGraph& graph) {
  std::vector<Module> modules = build_modules(dims, 0);
  Blocks blocks;
  for (Module& m : modules) {
    if (&m == &modules.back())
      blocks.push_back(std::make_unique<LossBlock>(std::move(m), graph.compute));
    else
      blocks.push_back(std::make_unique<ModuleBlock>(std::move(m), graph.compute));
  }
  return blocks;
}

}  // namespace trainx::model::custom
