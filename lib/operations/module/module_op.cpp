#include "core/error.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/module/module_spec.hpp"
#include "operations/module/module_state.hpp"
#include "operations/op_context.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/autograd.h>
#include <algorithm>
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

/// Lets the tensor, and all that autograd saved of it, see other memory: an operand of backward may
/// lie elsewhere than in forward.
void move_to(const at::Tensor& t, const Tensor& place) {
  if (t.const_data_ptr() == place.data) return;
  t.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
      at::DataPtr(const_cast<void*>(static_cast<const void*>(place.data)), t.device()));
}

void place_parameters(const OpContext& c) {
  const at::NoGradGuard no_gradients;
  ModuleState& m = c.module();
  for (std::size_t i = 0; i < m.module.parameters.size(); ++i) {
    NamedTensor& p = m.module.parameters[i];
    const Tensor place = c.parameter(static_cast<int>(i));
    if (p.tensor.numel() == 0) {
      const at::Tensor view = torch_view(place);
      p.tensor.set_data(m.are_numbers[i] ? view.view(at::IntArrayRef{}) : view);
    } else {
      move_to(p.tensor, place);
    }
  }
}

constexpr std::int64_t all_rows = -1;

/// The operands of forward, [rows, ...] each, as modules read them.
std::vector<at::Tensor> inputs_of(const OpContext& c, int count, std::int64_t rows,
                                  bool with_gradients) {
  std::vector<at::Tensor> inputs;
  for (int i = Module::first; i < Module::first + count; ++i) {
    const Tensor x = c.input(i);
    at::Tensor input = torch_view(x);
    if (x.dtype == DType::i32) input = input.to(at::kLong);
    if (rows != all_rows && rows < input.size(0)) input = input.narrow(0, 0, rows);
    const bool of_batch = c.is_batch(i);
    // a loss gets fields as they are, for its targets
    if (of_batch && input.is_floating_point() && !c.module().module.loss)
      input = input.to(c.module().compute);
    if (with_gradients && !of_batch) input.requires_grad_(true);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

/// Calls the module on its first `count` inputs; with gradients the state keeps these.
template <class Call>
auto called(const OpContext& c, int count, std::int64_t rows, bool with_gradients, Call&& call) {
  ModuleState& m = c.module();
  place_parameters(c);
  std::vector<at::Tensor> inputs = inputs_of(c, count, rows, with_gradients);
  if (with_gradients) m.inputs = inputs;
  m.module.set_training(c.training());
  if (c.training()) seed_generator(draw_seed(c));
  try {
    const at::AutoGradMode mode(with_gradients);
    return call(inputs);
  } catch (const c10::Error& e) {
    std::string shapes;
    for (const at::Tensor& x : inputs) shapes += (shapes.empty() ? "" : ", ") + c10::str(x.sizes());
    refuse(m, "forward fails on " + shapes + ": " + e.what_without_backtrace());
  }
}

int input_count(const OpContext& c) { return c.input_count() - Module::first; }

std::vector<at::Tensor> returned(const OpContext& c, int count, bool with_gradients) {
  const ModuleState& m = c.module();
  return called(c, count, all_rows, with_gradients, m.module.forward);
}

Tensor targets_of(const OpContext& c) { return c.input(Module::first + input_count(c) - 1); }

/// In fp32, of the last module of a chain.
at::Tensor logits_of(const OpContext& c, bool with_gradients) {
  std::vector<at::Tensor> all = returned(c, input_count(c) - 1, with_gradients);
  const std::int64_t count = targets_of(c).numel();
  if (all.size() != 1 || all[0].dim() < 2 || all[0].numel() / all[0].size(-1) != count)
    refuse(c.module(),
           c10::str("the last module returned ", all.empty() ? at::IntArrayRef() : all[0].sizes(),
                    ", no logits of ", count, " targets"));
  const at::AutoGradMode mode(with_gradients);
  at::Tensor logits = std::move(all[0]);
  logits = logits.to(at::kFloat);
  logits = logits.contiguous();
  return logits;
}

/// Does nobody else see its memory, such as a view, the module or what autograd saved?
bool is_alone(const at::Tensor& t) {
  if (!t.is_view()) return t.use_count() == 1 && t.storage().use_count() == 1;
  return t.use_count() == 1 && t._base().use_count() == 1 && t.storage().use_count() == 2;
}

at::Tensor as_rows(const at::Tensor& logits) { return logits.view({-1, logits.size(-1)}); }

LossTo loss_to(const OpContext& c, const at::Tensor& row_loss) {
  return {row_loss, c.whole(c.bound().loss_sum), c.whole(c.bound().target_count),
          c.block().accumulates(c.bound().loss_sum)};
}

double number(const ModuleState& m, const at::Tensor& t, const std::string& what) {
  if (!t.defined() || t.numel() != 1)
    refuse(m, "the loss's " + what + " is of " +
                  (t.defined() ? c10::str(t.sizes()) : std::string("no shape")) +
                  "; it must be one number");
  return t.item<double>();
}

void add(const OpContext& c, Slot to, double value) {
  auto& sum = *c.whole(to).as<double>();
  sum = (c.block().accumulates(to) ? sum : 0.0) + value;
}

void add_metrics(const OpContext& c, const std::vector<Metric>& metrics, double count) {
  const Tensor sums = c.whole(c.bound().score);
  if (!sums.defined()) {
    if (!metrics.empty())
      refuse(c.module(), "returns metrics where it returned none when it was described");
    return;
  }
  if (static_cast<std::int64_t>(metrics.size()) != sums.size(0))
    refuse(c.module(), "returns " + std::to_string(metrics.size()) + " metrics where it returned " +
                           std::to_string(sums.size(0)) + " when it was described");
  if (!c.block().accumulates(c.bound().score)) torch_view(sums).zero_();
  auto* to = sums.as<double>();
  for (const Metric& metric : metrics) {
    *to++ += number(c.module(), metric.sum, "metric " + metric.name);
    *to++ += metric.count.defined()
                 ? number(c.module(), metric.count, "count of the metric " + metric.name)
                 : count;
  }
}

/// What the module says of the first `rows` samples.
trainx::Loss own_loss(const OpContext& c, std::int64_t rows, bool with_gradients) {
  const ModuleState& m = c.module();
  trainx::Loss loss = called(c, input_count(c), rows, with_gradients, m.module.loss);
  const at::NoGradGuard no_gradients;
  add_metrics(c, loss.metrics, number(m, loss.count, "count"));
  return loss;
}

/// Sum and count are added to the step's; a sum that trains is kept for run_backward.
void add_loss(const OpContext& c, const trainx::Loss& loss) {
  const ModuleState& m = c.module();
  add(c, c.bound().target_count, number(m, loss.count, "count"));
  add(c, c.bound().loss_sum, number(m, loss.sum, "sum"));
  if (c.training()) c.module().outputs = {loss.sum};
}

/// Samples of the data come first; an evaluation's last batch is filled up by others.
std::int64_t samples_in(const OpContext& c) {
  const Tensor positions = c.input(Module::positions);
  const auto* at = positions.as<const std::int64_t>();
  return std::count_if(at, at + positions.size(0), [](std::int64_t p) { return p >= 0; });
}

/// Moves a leaf's gradient to where the block wants it, if it does.
void deliver(const Tensor& place, at::Tensor& leaf, bool accumulate) {
  at::Tensor& gradient = leaf.mutable_grad();
  if (!place.defined()) return gradient.reset();
  if (!gradient.defined()) {  // no output depends on it
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

ModuleState::ModuleState(trainx::GraphModule of, DType type_of_values)
    : module(std::move(of)), compute(tensor::scalar_type(type_of_values)) {
  const at::ScalarType type = compute;
  const at::NoGradGuard no_gradients;
  for (NamedTensor& p : module.parameters) are_numbers.push_back(p.tensor.dim() == 0);
  for (NamedTensor& p : module.parameters)
    p.tensor.set_data(at::empty({0}, p.tensor.options().dtype(type)));
  for (NamedTensor& b : module.buffers)
    if (b.tensor.is_floating_point() && b.tensor.scalar_type() != type)
      b.tensor.set_data(b.tensor.to(type));
}

void Module::run_forward(const OpContext& c) const {
  const bool keeps = c.output(graph()).defined();
  bool writes = false;
  for (int k = 0; k < graph(); ++k) writes |= c.writes(k);
  if (!keeps && !writes) return;
  std::vector<at::Tensor> values = returned(c, input_count(c), keeps);
  if (values.size() != dims.size())
    refuse(c.module(), "returned " + std::to_string(values.size()) + " tensors where it returned " +
                           std::to_string(dims.size()) + " when it was described");
  for (int k = 0; k < graph(); ++k) {
    const at::Tensor& value = values[static_cast<std::size_t>(k)];
    const std::vector<std::int64_t>& of = dims[static_cast<std::size_t>(k)];
    if (value.sizes() != at::IntArrayRef(of))
      refuse(c.module(), c10::str("returned ", value.sizes(), " where it returned ",
                                  at::IntArrayRef(of), " when it was described"));
    if (!c.writes(k)) continue;
    const at::NoGradGuard no_gradients;
    torch_view(c.output(k)).copy_(value);
  }
  if (keeps) c.module().outputs = std::move(values);
}

void Module::run_loss(const OpContext& c) const {
  if (loss == Loss::own) return add_loss(c, own_loss(c, all_rows, true));
  ModuleState& m = c.module();
  const at::Tensor logits = logits_of(c, true);
  const at::NoGradGuard no_gradients;
  // logits are most of a step's memory: they become their gradient unless others see them
  m.gradient = is_alone(logits) ? logits.detach() : logits.detach().clone();
  const at::Tensor rows = as_rows(m.gradient), row_loss = at::empty({rows.size(0)});
  summed_cross_entropy_with_gradient(loss_to(c, row_loss), rows,
                                     targets_of(c).as<const std::int32_t>(), rows.size(1),
                                     {c.block().loss_seed()});
  m.outputs = {logits};
}

void Module::run_backward(const OpContext& c) const {
  ModuleState& m = c.module();
  if (m.outputs.empty())
    throw InternalError("module '" + m.module.name + "': backward without a graph");
  place_parameters(c);
  for (std::size_t i = 0; i < m.inputs.size(); ++i) {
    const Tensor x = c.input(first + static_cast<int>(i));
    if (x.defined() && m.inputs[i].requires_grad()) move_to(m.inputs[i], x);
  }
  std::vector<at::Tensor> roots, seeds;
  for (std::size_t k = 0; k < m.outputs.size(); ++k) {
    const at::Tensor& output = m.outputs[k];
    if (!output.requires_grad()) continue;
    const Tensor dy = c.output_gradient(static_cast<int>(k));  // of the loss there is none
    if (loss == Loss::none && !dy.defined()) continue;         // nobody reads that value
    roots.push_back(output);
    seeds.push_back(dy.defined() ? torch_view(dy).view(output.sizes()).to(output.scalar_type())
                    : m.gradient.defined()
                        ? std::move(m.gradient)
                        : at::full(output.sizes(), c.block().loss_seed(), output.options()));
  }
  if (!roots.empty()) torch::autograd::backward(roots, seeds);
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < m.inputs.size(); ++i)
    deliver(c.input_gradient(first + static_cast<int>(i)), m.inputs[i],
            c.addend(first + static_cast<int>(i)).defined());
  int index = 0;
  for (NamedTensor& p : m.module.parameters) {
    deliver(c.parameter_gradient(index), p.tensor, c.accumulates(index));
    ++index;
  }
  m.inputs.clear();
  m.outputs.clear();
  m.gradient.reset();
}

void Module::run_evaluation(const OpContext& c) const {
  if (loss == Loss::own) {
    if (const std::int64_t rows = samples_in(c); rows > 0)
      return add_loss(c, own_loss(c, rows, false));
    add(c, c.bound().target_count, 0);
    add(c, c.bound().loss_sum, 0);
    const Tensor sums = c.whole(c.bound().score);
    if (sums.defined() && !c.block().accumulates(c.bound().score)) torch_view(sums).zero_();
    return;
  }
  const at::Tensor rows = as_rows(logits_of(c, false)), row_loss = at::empty({rows.size(0)});
  const auto* targets = targets_of(c).as<const std::int32_t>();
  const Tensor confusion = c.whole(c.bound().score);
  if (!confusion.defined())
    return summed_cross_entropy(loss_to(c, row_loss), rows, targets, rows.size(1));
  const at::Tensor predicted = at::empty({rows.size(0)}, at::kInt);
  scored_cross_entropy(loss_to(c, row_loss), {predicted, {}, confusion}, rows, targets,
                       rows.size(1));
}

}  // namespace trainx::operations
