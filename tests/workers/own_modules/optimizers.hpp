// Optimizers beside those of examples/own_optimizer: what a rule may do on a GPU, and may not.
#pragma once
#include "examples/own_optimizer/nesterov.hpp"
#include "examples/own_optimizer/tensor_adamw.hpp"
#include <torch/torch.h>
#include <vector>

/// Gradient descent that reads the rate on the host, which a CUDA graph cannot hold.
inline void reading(const trainx::NoOptions&, const trainx::UpdateTensors& range) {
  range.parameter.sub_(range.gradient, range.lr.item<double>());
}

/// Keeps a tensor of each call.
inline void keeping(const trainx::NoOptions&, const trainx::UpdateTensors& range) {
  static std::vector<torch::Tensor> kept;
  range.parameter.sub_(range.gradient * range.lr);
  if (range.parameter.is_cuda()) kept.push_back(range.gradient.repeat({16}));
}

/// Makes its state nan in update 5.
inline void breaking(const trainx::NoOptions&, const trainx::UpdateTensors& range) {
  range.parameter.sub_(range.gradient * range.lr);
  range.states[0].add_(torch::log(4.5 - range.step));
}

inline void failing(const trainx::NoOptions&, const trainx::UpdateTensors& range) {
  range.parameter.add_(torch::ones({7, 3}, range.parameter.options()));
}

/// As many states as one likes.
inline void many_states(const trainx::NoOptions&, const trainx::UpdateTensors& range) {
  auto sum = torch::zeros_like(range.gradient);
  for (std::size_t k = 0; k < range.states.size(); ++k) {
    range.states[k].lerp_(range.gradient, 1.0 / static_cast<double>(k + 1));
    sum.add_(range.states[k]);
  }
  range.parameter.sub_(sum * range.lr);
}

inline void add_optimizers() {
  trainx::add_optimizer<NesterovOptions>("nesterov", "over numbers", {{"velocity"}}, nesterov);
  trainx::add_optimizer<TensorAdamWOptions>("tensor_adamw", "with tensors",
                                            {{"exp_avg"}, {"exp_avg_sq"}}, tensor_adamw);
  trainx::add_optimizer<trainx::NoOptions>("reading", "reads the rate", {}, reading);
  trainx::add_optimizer<trainx::NoOptions>("keeping", "keeps memory", {}, keeping);
  trainx::add_optimizer<trainx::NoOptions>("breaking", "breaks", {{"m", 1}}, breaking);
  trainx::add_optimizer<trainx::NoOptions>("failing", "fails", {}, failing);
  trainx::add_optimizer<trainx::NoOptions>("many_states", "eight states",
                                           {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}, {"g"}, {"h"}},
                                           many_states);
}
