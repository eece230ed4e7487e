#include "operations/logit_sums/logit_sums_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> LogitSums::outputs(const Types& t) const {
  return {{"logit_numbers",
           {DType::f32, {t.inputs[logits].rows(), numbers_of_row}},
           {input(logits), input(targets)}}};
}

BackwardSpec LogitSums::backward(const Types&) const {
  return {.reads = {input(logits), input(targets), output(numbers)}, .inputs = {{.input = logits}}};
}

Cost LogitSums::cost(Direction direction, const Types& t) const {
  Cost c;
  const TensorType& x = t.inputs[logits];
  constexpr double flops = 3;  // of an exponential and two sums
  c.kernels = {{KernelFamily::cross_entropy}};
  c.element_flops = static_cast<double>(x.elements()) * flops;
  c.element_bytes = (direction == Direction::forward ? 1 : 2) * x.bytes();
  if (direction == Direction::forward) c.element_output = numbers;
  return c;
}

std::optional<Split> LogitSums::split(SplitAxis, const Types&) const { return std::nullopt; }

bool LogitSums::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
