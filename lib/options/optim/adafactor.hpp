#pragma once
#include "program/states.hpp"
#include "options/field.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace trainx::options {

/// Adafactor (Shazeer & Stern 2018, arXiv:1804.04235), in the form of transformers.Adafactor.
struct AdafactorOptions {
  static constexpr std::string_view name = "adafactor";
  static constexpr std::string_view summary =
      "Adafactor: second moments of matrices as a row and a column; own step sizes by default";
  static constexpr program::Unit unit = program::Unit::tensor;
  double eps1 = 1e-30, eps2 = 1e-3;
  double clip_threshold = 1;
  double decay_rate = -0.8;
  std::optional<double> beta1;
  double weight_decay = 0;
  bool scale_parameter = true, relative_step = true, warmup_init = false;
};

template <class Visitor>
void visit_fields(Visitor& field, AdafactorOptions& o) {
  field("eps1", o.eps1, positive(), "Value added to squared gradients");
  field("eps2", o.eps2, positive(),
        "Smallest root mean square of a tensor's weights that scale_parameter uses");
  field("clip_threshold", o.clip_threshold, positive(),
        "Largest root mean square of a tensor's update");
  field("decay_rate", o.decay_rate, negative(),
        "Exponent of the second moment's decay, 1 - t^decay_rate");
  field("beta1", o.beta1, unit_interval(), "Decay of a first moment; null: none is kept");
  field("weight_decay", o.weight_decay, non_negative(),
        "Decoupled weight decay, multiplied by the step size");
  field("scale_parameter", o.scale_parameter, anything(),
        "Multiply a tensor's step by the root mean square of its weights");
  field("relative_step", o.relative_step, anything(),
        "Use step sizes min(1e-2, 1/sqrt(t)) instead of optimizer.lr and its schedule");
  field("warmup_init", o.warmup_init, anything(), "Begin relative steps with 1e-6 t");
}

inline std::vector<program::StateSpec> states(const AdafactorOptions& o) {
  using Dims = std::vector<std::int64_t>;
  const auto row = [](const program::ParameterSpec& p) {
    if (p.dims.size() < 2) return Dims{};
    Dims dims(p.dims.begin(), p.dims.end() - 1);
    if (dims.size() == 1) dims[0] = p.rows();
    return dims;
  };
  const auto column = [](const program::ParameterSpec& p) {
    if (p.dims.size() < 2) return Dims{};
    Dims dims(p.dims.begin(), p.dims.end() - 2);
    dims.push_back(p.dims.back());
    return dims;
  };
  const auto vector = [](const program::ParameterSpec& p) {
    return p.dims.size() == 1 ? Dims{p.dims.front()} : Dims{};
  };
  std::vector<program::StateSpec> out{{"exp_avg_sq_row", DType::f32, 0, row},
                                      {"exp_avg_sq_col", DType::f32, 0, column},
                                      {"exp_avg_sq", DType::f32, 0, vector}};
  if (o.beta1) out.push_back({"exp_avg", DType::f32});
  return out;
}

/// Of the weights, squared, and of the squared gradient's rows and columns, or of a vector its
/// elements: what the second moments follow from. With them, of the direction, squared.
inline std::vector<program::TensorSums> tensor_sums(const AdafactorOptions& o) {
  const auto moments = [of = states(o)](const program::ParameterSpec& p) {
    std::int64_t sums = 1;
    for (const program::StateSpec& s : of) {
      if (!s.dims) continue;
      const program::TensorSpec kept{"", s.dtype, s.dims(p)};
      if (!kept.dims.empty()) sums += kept.elements();
    }
    return sums;
  };
  return {moments, [](const program::ParameterSpec&) { return std::int64_t{1}; }};
}

/// Step size t = 1, 2, ... of relative_step.
inline double relative_step(const AdafactorOptions& o, double t) {
  return std::min(o.warmup_init ? 1e-6 * t : 1e-2, 1 / std::sqrt(t));
}

}  // namespace trainx::options
