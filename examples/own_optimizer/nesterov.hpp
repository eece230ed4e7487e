// Gradient descent with Nesterov's momentum, as torch.optim.SGD has it: a rule over plain numbers.
#pragma once
#include <trainx/optimizer.hpp>

struct NesterovOptions {
  double momentum = 0.9, weight_decay = 0;
};
template <class Visitor>
void visit_fields(Visitor& field, NesterovOptions& o) {
  field("momentum", o.momentum, trainx::unit_interval(), "Decay of the velocity");
  field("weight_decay", o.weight_decay, trainx::non_negative(),
        "Weight decay, added to the gradient");
}

inline void nesterov(const NesterovOptions& o, const trainx::UpdateRange& range) {
  const auto momentum = static_cast<float>(o.momentum), lr = static_cast<float>(range.lr),
             decay = static_cast<float>(range.weight_decay);
  const std::span<float> velocity = range.states[0];
  for (std::size_t i = 0; i < range.parameter.size(); ++i) {
    const float d = range.gradient[i] + decay * range.parameter[i];
    velocity[i] = momentum * velocity[i] + d;
    range.parameter[i] -= lr * (d + momentum * velocity[i]);
  }
}
