#pragma once
#include "program/states.hpp"
#include "options/field.hpp"
#include <cstdint>

namespace trainx::options {

/// LAMB (You et al. 2020, arXiv:1904.00962, Alg. 2).
struct LambOptions {
  static constexpr std::string_view name = "lamb";
  static constexpr std::string_view summary =
      "LAMB: Adam's direction, each tensor's step as long as its weights, for large batches";
  static constexpr program::Unit unit = program::Unit::tensor;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-6;
  double weight_decay = 0.01;
};

template <class Visitor>
void visit_fields(Visitor& field, LambOptions& o) {
  field("beta1", o.beta1, unit_interval(), "Decay of the first moment");
  field("beta2", o.beta2, unit_interval(), "Decay of the second moment");
  field("eps", o.eps, positive(), "Value added to sqrt(v)");
  field("weight_decay", o.weight_decay, non_negative(), "Weight decay, a part of the direction");
}

inline std::vector<program::StateSpec> states(const LambOptions&) {
  return {{"exp_avg", DType::f32}, {"exp_avg_sq", DType::f32}};
}
/// Of the weights and of their directions, squared.
inline std::vector<program::TensorSums> tensor_sums(const LambOptions&) {
  return {[](const program::ParameterSpec&) { return std::int64_t{2}; }};
}

}  // namespace trainx::options
