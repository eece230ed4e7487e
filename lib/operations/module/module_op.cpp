#include "core/error.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/module/keyed_dropout.hpp"
#include "operations/module/module_device.hpp"
#include "operations/module/module_spec.hpp"
#include "operations/module/module_state.hpp"
#include "operations/op_context.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/autograd.h>
#include <mutex>
#include <stdexcept>

namespace trainx::operations {

using tensor::torch_view;

namespace {

std::uint64_t mix(std::uint64_t h) {  // the finalizer of MurmurHash3
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

/// Of the run's seed, the block and the samples' positions: a recomputation draws the same.
std::uint64_t draw_seed(const OpContext& c, std::int64_t position) {
  const tensor::RandomKey key = c.block().random_key(0);
  return mix(mix(key.seed + 0x9e3779b97f4a7c15 * (key.block + 1)) ^
             static_cast<std::uint64_t>(position));
}

/// LibTorch's generators, where the forward may draw from them. On a GPU this waits for it.
void seed_generators(const OpContext& c, const at::Tensor& positions) {
  if (!c.training() || !c.module().draws) return;
  const std::uint64_t seed = draw_seed(c, positions.select(0, 0).item<std::int64_t>());
  seed_generator(seed);
  if (!positions.is_cuda()) return;
  at::Generator generator = at::globalContext().defaultGenerator(positions.device());
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

[[noreturn]] void refuse(const ModuleState& m, const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, words_for(m.module) + ": " + sentence);
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
    p.tensor.mutable_grad().reset();  // of a backward that failed
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
  if (with_gradients) m.outputs.clear(), m.inputs.clear();
  place_parameters(c);
  std::vector<at::Tensor> inputs = inputs_of(c, count, rows, with_gradients);
  if (with_gradients) m.inputs = inputs;
  m.module.set_training(c.training());
  const at::Tensor positions = torch_view(c.input(Module::positions));
  seed_generators(c, positions);
  const DropoutScope dropout(c.block().random_key(0), positions);
  try {
    const at::AutoGradMode mode(with_gradients);
    return call(inputs);
  } catch (const std::invalid_argument& e) {  // of trainx::dropout
    refuse(m, e.what());
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

Tensor module_targets(const OpContext& c) { return c.input(Module::first + input_count(c) - 1); }

/// Of the last module of a chain: in fp32, or in a type that the GPU's kernels of the loss read.
at::Tensor logits_of(const OpContext& c, bool with_gradients) {
  std::vector<at::Tensor> all = returned(c, input_count(c) - 1, with_gradients);
  const std::int64_t count = module_targets(c).numel();
  if (all.size() != 1 || all[0].dim() < 2 || all[0].numel() / all[0].size(-1) != count)
    refuse(c.module(),
           c10::str("the last module returned ", all.empty() ? at::IntArrayRef() : all[0].sizes(),
                    ", no logits of ", count, " targets"));
  const at::AutoGradMode mode(with_gradients);
  at::Tensor logits = std::move(all[0]);
  const at::ScalarType type = logits.scalar_type();
  if (!logits.is_cuda() || (type != at::kBFloat16 && type != at::kHalf))
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

/// Of logits [R, classes].
at::Tensor row_losses(const at::Tensor& rows) {
  return at::empty({rows.size(0)}, rows.options().dtype(at::kFloat));
}

LossTo module_loss_to(const OpContext& c, const at::Tensor& row_loss) {
  return {row_loss, c.whole(c.bound().loss_sum), c.whole(c.bound().target_count),
          c.block().accumulates(c.bound().loss_sum)};
}

void require_number(const ModuleState& m, const at::Tensor& t, const std::string& what) {
  if (!t.defined() || t.numel() != 1)
    refuse(m, "the loss's " + what + " is of " +
                  (t.defined() ? c10::str(t.sizes()) : std::string("no shape")) +
                  "; it must be one number");
}

/// sum += number, in fp64. A number that the module made on the host is read there.
void add_number(const at::Tensor& sum, const at::Tensor& number) {
  if (number.is_cpu())
    sum.add_(number.item<double>());
  else
    sum.add_(number.detach().to(at::kDouble).view(at::IntArrayRef{}));
}

/// What an instruction adds to, of all its elements.
at::Tensor begun_sum(const OpContext& c, Slot to) {
  const at::Tensor sum = torch_view(c.whole(to));
  if (!c.block().accumulates(to)) sum.zero_();
  return sum;
}

void add(const OpContext& c, Slot to, const at::Tensor& number) {
  add_number(begun_sum(c, to).view({-1}).select(0, 0), number);
}

void add_metrics(const OpContext& c, const std::vector<Metric>& metrics, const at::Tensor& count) {
  const Tensor sums = c.whole(c.bound().score);
  if (!sums.defined()) {
    if (!metrics.empty())
      refuse(c.module(), "returns metrics where it returned none when it was described");
    return;
  }
  if (static_cast<std::int64_t>(metrics.size()) != sums.size(0))
    refuse(c.module(), "returns " + std::to_string(metrics.size()) + " metrics where it returned " +
                           std::to_string(sums.size(0)) + " when it was described");
  const at::Tensor to = begun_sum(c, c.bound().score);
  std::int64_t row = 0;
  for (const Metric& metric : metrics) {
    require_number(c.module(), metric.sum, "metric " + metric.name);
    if (metric.count.defined())
      require_number(c.module(), metric.count, "count of the metric " + metric.name);
    add_number(to[row][0], metric.sum);
    add_number(to[row][1], metric.count.defined() ? metric.count : count);
    ++row;
  }
}

/// What the module says of the first `rows` samples.
trainx::Loss own_loss(const OpContext& c, std::int64_t rows, bool with_gradients) {
  const ModuleState& m = c.module();
  trainx::Loss loss = called(c, input_count(c), rows, with_gradients, m.module.loss);
  const at::NoGradGuard no_gradients;
  require_number(m, loss.count, "count");
  require_number(m, loss.sum, "sum");
  add_metrics(c, loss.metrics, loss.count);
  return loss;
}

/// Sum and count are added to the step's; a sum that trains is kept for run_backward.
void add_loss(const OpContext& c, const trainx::Loss& loss) {
  add(c, c.bound().target_count, loss.count);
  add(c, c.bound().loss_sum, loss.sum);
  if (c.training()) c.module().outputs = {loss.sum};
}

/// Samples of the data come first; an evaluation's last batch is filled up by others. On a GPU this
/// waits for it.
std::int64_t samples_in(const OpContext& c) {
  return (torch_view(c.input(Module::positions)) >= 0).sum().item<std::int64_t>();
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

std::string words_for(const trainx::GraphModule& module) { return "module '" + module.name + "'"; }

ModuleState::ModuleState(trainx::GraphModule of, DType type_of_values, bool draws_numbers)
    : module(std::move(of)), draws(draws_numbers), compute(tensor::scalar_type(type_of_values)) {
  const at::ScalarType type = compute;
  for (NamedTensor& p : module.parameters) are_numbers.push_back(p.tensor.dim() == 0);
  const at::Device device = module_device();
  between_steps_on_module_device(words_for(module), [&] {
    const at::NoGradGuard no_gradients;
    for (NamedTensor& p : module.parameters)
      p.tensor.set_data(at::empty({0}, p.tensor.options().dtype(type)));
    for (NamedTensor& b : module.buffers) {
      const at::ScalarType of_buffer = b.tensor.is_floating_point() ? type : b.tensor.scalar_type();
      if (of_buffer != b.tensor.scalar_type() || device != b.tensor.device())
        b.tensor.set_data(b.tensor.to(device, of_buffer));
    }
    if (module.prepare) module.prepare(device, type);
  });
}

namespace {

/// Of the loss's sum: 1 / the nominal count, times the loss scale where there is one.
at::Tensor loss_seed(const OpContext& c, const at::Tensor& sum) {
  at::Tensor seed = at::full(sum.sizes(), c.block().loss_seed(), sum.options().dtype(at::kFloat));
  if (const Tensor scale = c.whole(c.bound().loss_scale); scale.defined())
    seed.mul_(torch_view(scale).view({-1}).select(0, 0));
  return seed.to(sum.scalar_type());
}

void forward_of(const Module& o, const OpContext& c) {
  const int values_made = o.graph();
  const bool keeps = c.output(values_made).defined();
  bool writes = false;
  for (int k = 0; k < values_made; ++k) writes |= c.writes(k);
  if (!keeps && !writes) return;
  std::vector<at::Tensor> values = returned(c, input_count(c), keeps);
  if (values.size() != o.dims.size())
    refuse(c.module(), "returned " + std::to_string(values.size()) + " tensors where it returned " +
                           std::to_string(o.dims.size()) + " when it was described");
  for (int k = 0; k < values_made; ++k) {
    const at::Tensor& value = values[static_cast<std::size_t>(k)];
    const std::vector<std::int64_t>& of = o.dims[static_cast<std::size_t>(k)];
    if (value.sizes() != at::IntArrayRef(of))
      refuse(c.module(), c10::str("returned ", value.sizes(), " where it returned ",
                                  at::IntArrayRef(of), " when it was described"));
    if (!c.writes(k)) continue;
    const at::NoGradGuard no_gradients;
    torch_view(c.output(k)).copy_(value);
  }
  if (keeps) c.module().outputs = std::move(values);
}

/// Logits are most of a step's memory: they become their gradient unless others see them.
void loss_of(const Module& o, const OpContext& c) {
  if (o.loss == Module::Loss::own) return add_loss(c, own_loss(c, all_rows, true));
  ModuleState& m = c.module();
  const at::Tensor logits = logits_of(c, true);
  const at::NoGradGuard no_gradients;
  m.gradient = is_alone(logits) ? logits.detach() : logits.detach().clone();
  const at::Tensor rows = as_rows(m.gradient), row_loss = row_losses(rows);
  summed_cross_entropy_with_gradient(module_loss_to(c, row_loss), rows,
                                     module_targets(c).as<const std::int32_t>(), rows.size(1),
                                     c.block().loss_seed(c.bound().loss_scale));
  m.outputs = {logits};
}

void backward_of(const Module& o, const OpContext& c) {
  constexpr int first = Module::first;
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
    const Tensor dy = c.output_gradient(static_cast<int>(k));     // of the loss there is none
    if (o.loss == Module::Loss::none && !dy.defined()) continue;  // nobody reads that value
    roots.push_back(output);
    seeds.push_back(dy.defined() ? torch_view(dy).view(output.sizes()).to(output.scalar_type())
                    : m.gradient.defined() ? std::move(m.gradient)
                                           : loss_seed(c, output));
  }
  try {
    if (!roots.empty()) torch::autograd::backward(roots, seeds);
  } catch (const c10::Error& e) {
    refuse(m, std::string("backward fails: ") + e.what_without_backtrace());
  }
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

void evaluation_of(const Module& o, const OpContext& c) {
  if (o.loss == Module::Loss::own) {
    if (const std::int64_t rows = samples_in(c); rows > 0)
      return add_loss(c, own_loss(c, rows, false));
    for (const Slot sum : {c.bound().target_count, c.bound().loss_sum, c.bound().score})
      if (c.whole(sum).defined()) begun_sum(c, sum);
    return;
  }
  const at::Tensor rows = as_rows(logits_of(c, false));
  const Tensor confusion = c.whole(c.bound().score);
  const at::Tensor row_loss = row_losses(rows);
  const auto* targets = module_targets(c).as<const std::int32_t>();
  if (!confusion.defined())
    return summed_cross_entropy(module_loss_to(c, row_loss), rows, targets, rows.size(1));
  const at::Tensor predicted = at::empty({rows.size(0)}, rows.options().dtype(at::kInt));
  scored_cross_entropy(module_loss_to(c, row_loss), {predicted, {}, confusion}, rows, targets,
                       rows.size(1));
}

}  // namespace

void Module::run_forward(const OpContext& c) const {
  on_module_device(words_for(c.module().module), [&] { forward_of(*this, c); });
}
void Module::run_backward(const OpContext& c) const {
  on_module_device(words_for(c.module().module), [&] { backward_of(*this, c); });
}
void Module::run_loss(const OpContext& c) const {
  on_module_device(words_for(c.module().module), [&] { loss_of(*this, c); });
}
void Module::run_evaluation(const OpContext& c) const {
  on_module_device(words_for(c.module().module), [&] { evaluation_of(*this, c); });
}

}  // namespace trainx::operations
