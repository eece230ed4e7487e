#pragma once
#include "program/states.hpp"
#include "options/field.hpp"
#include <cstdint>

namespace trainx::options {

enum class StateDtype : std::uint8_t { fp32, bf16 };
inline const EnumNames<StateDtype>& enum_names(StateDtype) {
  static const EnumNames<StateDtype> names{{StateDtype::fp32, "fp32"}, {StateDtype::bf16, "bf16"}};
  return names;
}

/// AdamW with states of chosen types, in the form of torchdistx' AnyPrecisionAdamW.
struct AdamWAnyPrecisionOptions {
  static constexpr std::string_view name = "adamw_anyprecision";
  static constexpr std::string_view summary =
      "AdamW with fp32 or bf16 moments; Kahan summation for bf16 weights alone";
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  StateDtype momentum_dtype = StateDtype::fp32, variance_dtype = StateDtype::bf16;
  bool use_kahan_summation = false;
};

template <class Visitor>
void visit_fields(Visitor& field, AdamWAnyPrecisionOptions& o) {
  field("beta1", o.beta1, unit_interval(), "Decay of the first moment");
  field("beta2", o.beta2, unit_interval(), "Decay of the second moment");
  field("eps", o.eps, positive(), "Value added to sqrt(v)");
  field("weight_decay", o.weight_decay, non_negative(), "Decoupled weight decay, multiplied by lr");
  field("momentum_dtype", o.momentum_dtype, anything(), "Type of the first moment");
  field("variance_dtype", o.variance_dtype, anything(), "Type of the second moment");
  field("use_kahan_summation", o.use_kahan_summation, anything(),
        "Keep in bf16 what bf16 weights cannot hold of an update; needs precision.master: none");
}

inline std::vector<program::StateSpec> states(const AdamWAnyPrecisionOptions& o) {
  const auto type = [](StateDtype t) { return t == StateDtype::bf16 ? DType::bf16 : DType::f32; };
  std::vector<program::StateSpec> out{{"exp_avg", type(o.momentum_dtype)},
                                      {"exp_avg_sq", type(o.variance_dtype)}};
  if (o.use_kahan_summation) out.push_back({"compensation", DType::bf16});
  return out;
}

}  // namespace trainx::options
