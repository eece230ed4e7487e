#include "program/buffer.hpp"

namespace trainx::program {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::parameter: return "parameter";
    case Role::master: return "master";
    case Role::state: return "state";
    case Role::gradient: return "gradient";
    case Role::value: return "value";
    case Role::value_gradient: return "value_gradient";
    case Role::saved: return "saved";
    case Role::cast_weight: return "cast_weight";
    case Role::scratch: return "scratch";
    case Role::transit: return "transit";
    case Role::batch: return "batch";
    case Role::cache: return "cache";
    case Role::step: return "step";
    case Role::applied_steps: return "applied_steps";
    case Role::learning_rates: return "learning_rates";
    case Role::loss_sum: return "loss_sum";
    case Role::target_count: return "target_count";
    case Role::metric: return "metric";
    case Role::squared_norm: return "squared_norm";
    case Role::tensor_sums: return "tensor_sums";
    case Role::loss_scale: return "loss_scale";
    case Role::fp8_ranges: return "fp8_ranges";
    case Role::fp8_scales: return "fp8_scales";
  }
  return "?";
}

}  // namespace trainx::program
