#include "exported/placed_graph.hpp"
#include "exported/cpu/biased_attention.hpp"
#include "exported/fusions.hpp"
#include "exported/gpu_calls.hpp"
#include "exported/keyed_calls.hpp"
#include "exported/scalars.hpp"
#include <ATen/ScalarOps.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <algorithm>

namespace trainx::exported {
namespace {

/// Values of one run, by number; a value is dropped after its last reader.
using Values = std::vector<c10::IValue>;

/// As Python's numbers beside tensors: the tensor's type decides.
at::Tensor wrapped(const c10::IValue& number, const at::Device& device) {
  const at::Scalar scalar = number.toScalar();
  at::Tensor t = device.is_cpu() ? c10::scalar_to_tensor(scalar)
                                 : at::full({}, scalar, c10::dtype(scalar.type()).device(device));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

const c10::IValue& item_of(const Slot& slot, const Values& values) {
  return slot.value >= 0 ? values[static_cast<std::size_t>(slot.value)] : slot.constant;
}

template <class T, class Take>
c10::IValue list_of(const Slot& slot, const Values& values, Take&& take) {
  c10::List<T> list;
  list.reserve(slot.items.size());
  for (const Slot& item : slot.items) list.push_back(take(item_of(item, values)));
  return list;
}

c10::IValue argument_of(const Slot& slot, const Values& values) {
  using List = Slot::List;
  using IValue = c10::IValue;
  switch (slot.list) {
    case List::integers:
      return list_of<std::int64_t>(slot, values, [](const IValue& v) { return v.toInt(); });
    case List::reals:
      return list_of<double>(slot, values, [](const IValue& v) { return v.toScalar().toDouble(); });
    case List::booleans:
      return list_of<bool>(slot, values, [](const IValue& v) { return v.toBool(); });
    case List::tensors:
      return list_of<at::Tensor>(slot, values, [](const IValue& v) { return v.toTensor(); });
    case List::optional_tensors:
      return list_of<std::optional<at::Tensor>>(slot, values, [](const IValue& v) {
        return v.isNone() ? std::nullopt : std::optional(v.toTensor());
      });
    case List::none: break;
  }
  return item_of(slot, values);
}

void wrap_constants(Slot& slot, const at::Device& device) {
  for (Slot& item : slot.items) wrap_constants(item, device);
  if (!slot.wraps_number || slot.value >= 0) return;
  slot.constant = wrapped(slot.constant, device);
  slot.wraps_number = false;
}

/// As in a forward whose graph is kept, so that a recomputation has the same bits.
void call_as_differentiated(const Call& call, std::vector<c10::IValue>& stack) {
  for (const std::size_t k : call.differentiable)
    if (stack[k].isTensor() && stack[k].toTensor().is_floating_point())
      stack[k] = stack[k].toTensor().detach().requires_grad_(true);
  {
    const at::AutoGradMode gradients(true);
    call.op->callBoxed(stack);
  }
  stack[0] = stack[0].toTensor().detach();
}

/// Leaves the results on the stack.
void compute(const Call& call, std::vector<c10::IValue>& stack, bool training) {
  if (call.fused) return call.fused(stack);
  if (call.drawing >= 0) {
    if (!training) stack[static_cast<std::size_t>(call.drawing)] = call.in_evaluation;
    if (training && call_keyed(call, stack)) return;
  }
  if (call.has_own_bias && cpu::attend_with_bias(stack)) return;
  if (training && !call.differentiable.empty() && !at::GradMode::is_enabled())
    return call_as_differentiated(call, stack);
  call.op->callBoxed(stack);
}

/// Where the numbers beside its tensors lie.
at::Device place_of_numbers(const Call& call, const at::Device& device) {
  return takes_host_numbers(call.op->schema().name()) ? at::Device(at::kCPU) : device;
}

}  // namespace

PlacedGraph::PlacedGraph(const PreparedGraph& graph, const std::vector<at::Tensor>& constants,
                         const at::Device& device)
    : device_(device), graph_(graph) {
  const at::NoGradGuard no_gradients;
  for (const at::Tensor& t : constants) constants_.push_back(t.to(device));
  fuse(graph_, !device.is_cpu());
  for (Call& call : graph_.calls) {
    if (!call.op || call.fused) continue;
    if (!device.is_cpu()) suit_gpu(call);
    for (Slot& slot : call.slots) wrap_constants(slot, place_of_numbers(call, device));
    if (call.device >= 0) call.slots[static_cast<std::size_t>(call.device)].constant = device;
  }
  find_differentiable(graph_);
  constexpr std::size_t bias = 3;
  for (Call& call : graph_.calls)
    call.has_own_bias = device.is_cpu() &&
                        std::ranges::find(call.differentiable, bias) != call.differentiable.end();
}

std::vector<std::string> PlacedGraph::operators() const {
  std::vector<std::string> names;
  for (const Call& call : graph_.calls)
    names.push_back(call.op ? call.op->schema().name() : "scalar::" + call.scalar);
  return names;
}

std::vector<at::Tensor> PlacedGraph::run(const std::vector<at::Tensor>& operands,
                                         bool training) const {
  TORCH_CHECK(operands.size() == graph_.operand_types.size(), "an exported module lacks operands");
  Values values(graph_.values);
  std::size_t next = 0;
  for (const at::Tensor& t : operands) {
    const at::ScalarType type = graph_.operand_types[next];
    values[next++] = t.scalar_type() == type ? t : t.to(type);
  }
  for (const at::Tensor& t : constants_) values[next++] = t;
  std::vector<c10::IValue> stack;
  for (const Call& call : graph_.calls) {
    stack.clear();
    for (const Slot& slot : call.slots) {
      stack.push_back(argument_of(slot, values));
      if (slot.wraps_number) stack.back() = wrapped(stack.back(), place_of_numbers(call, device_));
    }
    if (!call.op) {
      values[static_cast<std::size_t>(call.outputs[0])] = scalar_function(call.scalar, stack);
      continue;
    }
    compute(call, stack, training);
    if (call.returns_list) {
      const std::vector<at::Tensor> made = stack.at(0).toTensorVector();
      TORCH_CHECK(made.size() == call.outputs.size(), call.op->operator_name(), " made ",
                  made.size(), " tensors, and the export has ", call.outputs.size());
      stack.assign(made.begin(), made.end());
    }
    for (std::size_t k = 0; k < call.outputs.size(); ++k)
      values[static_cast<std::size_t>(call.outputs[k])] = std::move(stack.at(k));
    stack.clear();
    for (const std::int64_t v : call.frees) values[static_cast<std::size_t>(v)] = c10::IValue();
  }
  std::vector<at::Tensor> results;
  for (const std::int64_t r : graph_.results)
    results.push_back(values[static_cast<std::size_t>(r)].toTensor());
  return results;
}

}  // namespace trainx::exported
