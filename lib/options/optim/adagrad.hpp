#pragma once
#include "program/states.hpp"
#include "options/field.hpp"

namespace trainx::options {

/// Adagrad (Duchi et al. 2011), in the form of torch.optim.Adagrad.
struct AdagradOptions {
  static constexpr std::string_view name = "adagrad";
  static constexpr std::string_view summary =
      "Adagrad: steps divided by the root of the sum of squared gradients";
  double lr_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  double weight_decay = 0;
};

template <class Visitor>
void visit_fields(Visitor& field, AdagradOptions& o) {
  field("lr_decay", o.lr_decay, non_negative(),
        "Learning rate decay: lr is divided by 1 + lr_decay * earlier steps");
  field("initial_accumulator_value", o.initial_accumulator_value, non_negative(),
        "Initial sums of squares");
  field("eps", o.eps, positive(), "Value added to sqrt(sum)");
  field("weight_decay", o.weight_decay, non_negative(), "Weight decay, added to the gradient");
}

inline std::vector<program::StateSpec> states(const AdagradOptions& o) {
  return {{"sum", DType::f32, o.initial_accumulator_value}};
}

}  // namespace trainx::options
