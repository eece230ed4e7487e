#pragma once
#include "program/states.hpp"
#include "spec/field.hpp"

namespace trainx::spec {

/// Adagrad (Duchi et al. 2011), in the form of torch.optim.Adagrad.
struct AdagradOptions {
  static constexpr std::string_view name = "adagrad";
  static constexpr std::string_view summary = "steps divided by the root of all squared gradients so far";
  double lr_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  double weight_decay = 0;
};

template <class Visitor>
void visit_fields(Visitor& field, AdagradOptions& o) {
  field("lr_decay", o.lr_decay, non_negative(), "divides the learning rate by 1 + lr_decay * steps before");
  field("initial_accumulator_value", o.initial_accumulator_value, non_negative(), "what the sums of squares begin with");
  field("eps", o.eps, positive(), "added to sqrt(sum)");
  field("weight_decay", o.weight_decay, non_negative(), "added to the gradient, times the weight");
}

inline std::vector<program::StateSpec> states(const AdagradOptions& o) { return {{"sum", DType::f32, o.initial_accumulator_value}}; }

}  // namespace trainx::spec
