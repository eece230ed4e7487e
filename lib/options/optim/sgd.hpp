#pragma once
#include "program/states.hpp"
#include "options/field.hpp"

namespace trainx::options {

/// Stochastic gradient descent with momentum (Sutskever et al. 2013), in the form of
/// torch.optim.SGD.
struct SgdOptions {
  static constexpr std::string_view name = "sgd";
  static constexpr std::string_view summary =
      "Stochastic gradient descent, with momentum or Nesterov momentum";
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

template <class Visitor>
void visit_fields(Visitor& field, SgdOptions& o) {
  field("momentum", o.momentum, unit_interval(), "Decay of the velocity; 0: none is kept");
  field("nesterov", o.nesterov, anything(), "Look ahead along the velocity; needs momentum");
  field("weight_decay", o.weight_decay, non_negative(), "Weight decay, added to the gradient");
}

inline std::vector<program::StateSpec> states(const SgdOptions& o) {
  return o.momentum > 0 ? std::vector<program::StateSpec>{{"momentum_buffer", DType::f32}}
                        : std::vector<program::StateSpec>{};
}

}  // namespace trainx::options
