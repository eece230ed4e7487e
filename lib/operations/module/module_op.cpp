#include "core/error.hpp"
#include "operations/module/module_spec.hpp"
#include "operations/module/module_state.hpp"
#include "operations/op_context.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/util/StringUtil.h>
#include <mutex>

namespace trainx::operations {

using tensor::torch_view;

namespace {

std::uint64_t mix(std::uint64_t h) {  // the finalizer of MurmurHash3
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

/// Of the run's seed, the block and the samples' positions: a recomputation draws the same.
std::uint64_t draw_seed(const OpContext& c) {
  const tensor::RandomKey key = c.block().random_key(0);
  const auto* positions = c.input(Module::positions).as<const std::int64_t>();
  return mix(mix(key.seed + 0x9e3779b97f4a7c15 * (key.block + 1)) ^
             static_cast<std::uint64_t>(positions[0]));
}

[[noreturn]] void refuse(const ModuleState& m, const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "module '" + m.module.name + "': " + sentence);
}

/// What the module returns for x, which becomes a leaf of the graph if gradients are wanted.
at::Tensor returned(const OpContext& c, bool with_gradients) {
  ModuleState& m = c.module();
  {
    const at::NoGradGuard no_gradients;
    int index = 0;
    for (trainx::Module::NamedTensor& p : m.module.parameters) {
      const at::Tensor view = torch_view(c.parameter(index++));
      if (p.tensor.const_data_ptr() != view.const_data_ptr()) p.tensor.set_data(view);
    }
  }
  const Tensor x = c.input(Module::x);
  const bool tokens = x.dtype == DType::i32;
  const at::Tensor operand = torch_view(x), input = tokens ? operand.to(at::kLong) : operand;
  if (with_gradients && !tokens) input.requires_grad_(true);
  if (with_gradients) m.input = input;
  m.module.set_training(c.training());
  if (c.training()) seed_generator(draw_seed(c));
  try {
    const at::AutoGradMode mode(with_gradients);
    return m.module.forward(input);
  } catch (const c10::Error& e) {
    refuse(m, c10::str("forward fails on ", input.sizes(), ": ", e.what_without_backtrace()));
  }
}

/// [targets, classes] in fp32.
at::Tensor logits_of(const OpContext& c, bool with_gradients) {
  const at::Tensor logits = returned(c, with_gradients),
                   targets = torch_view(c.input(Module::targets));
  const std::int64_t count = targets.numel();
  if (logits.dim() < 2 || logits.numel() / logits.size(-1) != count)
    refuse(c.module(), c10::str("the last module returned ", logits.sizes(), ", no logits of ",
                                targets.sizes(), " targets"));
  const at::AutoGradMode mode(with_gradients);
  return logits.reshape({count, -1}).to(at::kFloat);
}

void add(const OpContext& c, Slot to, double value) {
  auto& sum = *c.whole(to).as<double>();
  sum = (c.block().accumulates(to) ? sum : 0.0) + value;
}

/// Summed over the targets that there are, in fp32; sum and count are added to the step's.
at::Tensor summed_loss(const OpContext& c, const at::Tensor& logits) {
  const at::Tensor targets = torch_view(c.input(Module::targets)).to(at::kLong).view({-1});
  add(c, c.bound().target_count,
      static_cast<double>((targets != std::int64_t{no_target}).sum().item<std::int64_t>()));
  const at::AutoGradMode mode(logits.requires_grad());
  const at::Tensor sum = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, no_target);
  add(c, c.bound().loss_sum, sum.item<double>());
  return sum;
}

/// Moves a leaf's gradient to where the block wants it, if it does.
void deliver(const Tensor& place, at::Tensor& leaf, bool accumulate) {
  at::Tensor& gradient = leaf.mutable_grad();
  if (!place.defined()) return gradient.reset();
  if (!gradient.defined()) {  // the output does not depend on it
    if (!accumulate) torch_view(place).zero_();
    return;
  }
  const at::Tensor to = torch_view(place).view(gradient.sizes());
  accumulate ? to.add_(gradient) : to.copy_(gradient);
  gradient.reset();
}

}  // namespace

void seed_generator(std::uint64_t seed) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

ModuleState::ModuleState(trainx::Module of, DType compute) : module(std::move(of)) {
  const at::ScalarType type = tensor::scalar_type(compute);
  const at::NoGradGuard no_gradients;
  for (trainx::Module::NamedTensor& p : module.parameters)
    p.tensor.set_data(at::empty({0}, p.tensor.options().dtype(type)));
  for (trainx::Module::NamedTensor& b : module.buffers)
    if (b.tensor.is_floating_point() && b.tensor.scalar_type() != type)
      b.tensor.set_data(b.tensor.to(type));
}

void Module::run_forward(const OpContext& c) const {
  const bool keeps = c.output(graph).defined();
  if (!keeps && !c.writes(y)) return;
  at::Tensor output = returned(c, keeps);
  if (c.writes(y)) {
    const at::Tensor to = torch_view(c.output(y));
    if (output.sizes() != to.sizes())
      refuse(c.module(), c10::str("returned ", output.sizes(), " where it returned ", to.sizes(),
                                  " when it was described"));
    const at::NoGradGuard no_gradients;
    to.copy_(output);
  }
  if (keeps) c.module().output = std::move(output);
}

void Module::run_loss(const OpContext& c) const {
  c.module().output = summed_loss(c, logits_of(c, true));
}

void Module::run_backward(const OpContext& c) const {
  ModuleState& m = c.module();
  if (!m.output.defined())
    throw InternalError("module '" + m.module.name + "': backward without a graph");
  if (m.output.requires_grad()) {
    const Tensor dy = c.output_gradient(y);  // of the loss there is none
    m.output.backward(dy.defined()
                          ? torch_view(dy).view(m.output.sizes()).to(m.output.scalar_type())
                          : at::full({}, c.block().loss_seed(), m.output.options()));
  }
  const at::NoGradGuard no_gradients;
  deliver(c.input_gradient(x), m.input, false);
  int index = 0;
  for (trainx::Module::NamedTensor& p : m.module.parameters) {
    deliver(c.parameter_gradient(index), p.tensor, c.accumulates(index));
    ++index;
  }
  m.input.reset();
  m.output.reset();
}

void Module::run_evaluation(const OpContext& c) const {
  const at::Tensor logits = logits_of(c, false);
  summed_loss(c, logits);
  const Tensor confusion = c.whole(c.bound().score);
  if (!confusion.defined()) return;
  if (!c.block().accumulates(c.bound().score)) torch_view(confusion).zero_();
  const at::Tensor predicted = logits.argmax(-1);
  const auto* labels = c.input(targets).as<const std::int32_t>();
  for (std::int64_t b = 0; b < predicted.numel(); ++b)
    if (labels[b] != no_target)
      ++confusion.as<double>()[labels[b] * confusion.size(1) +
                               predicted.const_data_ptr<std::int64_t>()[b]];
}

}  // namespace trainx::operations
