#pragma once
#include "program/states.hpp"
#include "options/field.hpp"

namespace trainx::options {

/// Lion (Chen et al. 2023, arXiv:2302.06675, Alg. 2).
struct LionOptions {
  static constexpr std::string_view name = "lion";
  static constexpr std::string_view summary =
      "Lion: the sign of a momentum; takes a third to a tenth of AdamW's lr";
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
};

template <class Visitor>
void visit_fields(Visitor& field, LionOptions& o) {
  field("beta1", o.beta1, unit_interval(), "Share of the momentum in the direction");
  field("beta2", o.beta2, unit_interval(), "Decay of the momentum");
  field("weight_decay", o.weight_decay, non_negative(), "Decoupled weight decay, multiplied by lr");
}

inline std::vector<program::StateSpec> states(const LionOptions&) {
  return {{"exp_avg", DType::f32}};
}

}  // namespace trainx::options
