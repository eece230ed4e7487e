// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101), written with LibTorch's operations.
#pragma once
#include <torch/torch.h>
#include <trainx/optimizer.hpp>
#include <cmath>

struct TensorAdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
template <class Visitor>
void visit_fields(Visitor& field, TensorAdamWOptions& o) {
  field("beta1", o.beta1, trainx::unit_interval(), "Decay of the first moment");
  field("beta2", o.beta2, trainx::unit_interval(), "Decay of the second moment");
  field("eps", o.eps, trainx::positive(), "Value added to sqrt(v)");
  field("weight_decay", o.weight_decay, trainx::non_negative(),
        "Decoupled weight decay, multiplied by lr");
}

inline void tensor_adamw(const TensorAdamWOptions& o, const trainx::UpdateRange& range) {
  auto weight = range.parameter_view(), m = range.state_view(0), v = range.state_view(1);
  const auto gradient = range.gradient_view();
  const auto t = static_cast<double>(range.step);
  weight.mul_(1 - range.lr * range.weight_decay);
  m.lerp_(gradient, 1 - o.beta1);
  v.mul_(o.beta2).addcmul_(gradient, gradient, 1 - o.beta2);
  const auto scale = v.sqrt().div_(std::sqrt(1 - std::pow(o.beta2, t))).add_(o.eps);
  weight.addcdiv_(m, scale, -range.lr / (1 - std::pow(o.beta1, t)));
}
