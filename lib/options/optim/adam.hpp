#pragma once
#include "program/states.hpp"
#include "options/field.hpp"

namespace trainx::options {

/// Adam (Kingma & Ba 2015, arXiv:1412.6980), in the form of torch.optim.Adam.
struct AdamOptions {
  static constexpr std::string_view name = "adam";
  static constexpr std::string_view summary = "Adam, weight decay in the gradient";
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};

template <class Visitor>
void visit_fields(Visitor& field, AdamOptions& o) {
  field("beta1", o.beta1, unit_interval(), "Decay of the first moment");
  field("beta2", o.beta2, unit_interval(), "Decay of the second moment");
  field("eps", o.eps, positive(), "Value added to sqrt(v)");
  field("weight_decay", o.weight_decay, non_negative(), "Weight decay, added to the gradient");
}

inline std::vector<program::StateSpec> states(const AdamOptions&) {
  return {{"exp_avg", DType::f32}, {"exp_avg_sq", DType::f32}};
}

}  // namespace trainx::options
