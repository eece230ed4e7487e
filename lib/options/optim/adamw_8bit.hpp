#pragma once
#include "program/states.hpp"
#include "options/field.hpp"
#include <cstdint>

namespace trainx::options {

/// AdamW with moments of a byte each (Dettmers et al. 2022, arXiv:2110.02861), in the form of
/// bitsandbytes.optim.AdamW8bit.
struct AdamW8bitOptions {
  static constexpr std::string_view name = "adamw_8bit";
  static constexpr std::string_view summary =
      "AdamW with moments of one byte and a scale for every 256";
  static constexpr program::Unit unit = program::Unit::block;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  std::int64_t min_8bit_size = 4096;
  bool embeddings_32bit = false;
};

template <class Visitor>
void visit_fields(Visitor& field, AdamW8bitOptions& o) {
  field("beta1", o.beta1, unit_interval(), "Decay of the first moment");
  field("beta2", o.beta2, unit_interval(), "Decay of the second moment");
  field("eps", o.eps, positive(), "Value added to sqrt(v)");
  field("weight_decay", o.weight_decay, non_negative(), "Decoupled weight decay, multiplied by lr");
  field("min_8bit_size", o.min_8bit_size, between(0, 1LL << 40),
        "Smallest tensor, in elements, whose moments take a byte; smaller ones are fp32");
  field("embeddings_32bit", o.embeddings_32bit, anything(), "Keep moments of embeddings in fp32");
}

inline bool is_8bit(const AdamW8bitOptions& o, const program::ParameterSpec& p) {
  return p.tensor_elements() >= o.min_8bit_size && !(o.embeddings_32bit && p.embedding);
}

/// In the order of kernels::AdamW8bitState.
inline std::vector<program::StateSpec> states(const AdamW8bitOptions& o) {
  using Dims = std::vector<std::int64_t>;
  const auto exact = [o](const program::ParameterSpec& p) {
    return is_8bit(o, p) ? Dims{} : p.dims;
  };
  const auto codes = [o](const program::ParameterSpec& p) {
    return is_8bit(o, p) ? p.dims : Dims{};
  };
  const auto scales = [o](const program::ParameterSpec& p) {
    return is_8bit(o, p) ? Dims{(p.elements() + program::state_block - 1) / program::state_block}
                         : Dims{};
  };
  using program::ByteCodes;
  return {{"exp_avg", DType::f32, 0, exact},
          {"exp_avg_sq", DType::f32, 0, exact},
          {"exp_avg_codes", DType::u8, 0, codes},
          {"exp_avg_absmax", DType::f32, 0, scales, false, ByteCodes::of_signed},
          {"exp_avg_sq_codes", DType::u8, 0, codes},
          {"exp_avg_sq_absmax", DType::f32, 0, scales, false, ByteCodes::of_unsigned}};
}

}  // namespace trainx::options
