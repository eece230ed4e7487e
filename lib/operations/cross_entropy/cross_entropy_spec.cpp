#include "operations/cross_entropy/cross_entropy_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> CrossEntropy::outputs(const Types&) const { return {}; }

// The gradient is made with the loss, in place.
BackwardSpec CrossEntropy::backward(const Types&) const { return {.inputs = {{.input = logits}}}; }

Cost CrossEntropy::cost(Direction direction, const Types& t) const {
  Cost c;
  if (direction == Direction::backward) return c;
  constexpr double flops = 6;  // of a logit of a softmax, and of its gradient
  c.kernels = {{KernelFamily::cross_entropy}};
  c.element_flops = static_cast<double>(t.inputs[logits].elements()) * flops;
  c.element_bytes = 2 * t.inputs[logits].bytes();
  const std::int64_t rows = t.inputs[logits].rows();
  c.scratch = {
      {"row_loss", {DType::f32, {rows}}},
      {"predictions", score == Score::none ? TensorType{} : TensorType{DType::i32, {rows}}}};
  return c;
}

std::optional<Split> CrossEntropy::split(SplitAxis, const Types&) const { return std::nullopt; }

bool CrossEntropy::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
