#pragma once
#include "program/states.hpp"
#include "options/field.hpp"

namespace trainx::options {

/// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101, Alg. 2).
struct AdamWOptions {
  static constexpr std::string_view name = "adamw";
  static constexpr std::string_view summary = "Adam with decoupled weight decay";
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

template <class Visitor>
void visit_fields(Visitor& field, AdamWOptions& o) {
  field("beta1", o.beta1, unit_interval(), "Decay of the first moment");
  field("beta2", o.beta2, unit_interval(), "Decay of the second moment");
  field("eps", o.eps, positive(), "Value added to sqrt(v)");
  field("weight_decay", o.weight_decay, non_negative(), "Decoupled weight decay, multiplied by lr");
}

/// What it keeps.
inline std::vector<program::StateSpec> states(const AdamWOptions&) {
  return {{"exp_avg", DType::f32}, {"exp_avg_sq", DType::f32}};
}

}  // namespace trainx::options
