// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101), written with LibTorch's operations: it
// computes where the parameters are, on a CPU or a GPU.
#pragma once
#include <torch/torch.h>
#include <trainx/optimizer.hpp>

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

inline void tensor_adamw(const TensorAdamWOptions& o, const trainx::UpdateTensors& range) {
  const auto &weight = range.parameter, &gradient = range.gradient, &m = range.states[0],
             &v = range.states[1];
  weight.mul_(1 - range.lr * range.weight_decay);
  m.lerp_(gradient, 1 - o.beta1);
  v.mul_(o.beta2).addcmul_(gradient, gradient, 1 - o.beta2);
  const auto scale = v.sqrt().div_(torch::sqrt(1 - torch::pow(o.beta2, range.step))).add_(o.eps);
  weight.sub_(m / scale * (range.lr / (1 - torch::pow(o.beta1, range.step))));
}
