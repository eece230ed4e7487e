// What a step multiplies gradients by, for the kernels and the references.
#pragma once
#include "kernels/host_device.hpp"
#include "kernels/optimizer/update.hpp"
#include <cstdint>

namespace trainx::kernels {

struct UpdateScale {
  bool finite = false;  // else nothing is updated
  float gradient_factor = 0;
  double lr = 0;
  std::int64_t applied_steps = 0;  // before this one
};

TRAINX_HOST_DEVICE UpdateScale update_scale(const UpdateScalars& scalars, const ScaleSettings& o) {
  UpdateScale s;
  s.applied_steps = *scalars.applied_steps;
  s.lr = scalars.lr_table[s.applied_steps < scalars.lr_entries ? s.applied_steps
                                                               : scalars.lr_entries - 1];
  s.lr = product(s.lr, o.lr_scale);
  const double targets = scalars.loss_scale ? product(*scalars.target_count, *scalars.loss_scale)
                                            : *scalars.target_count;
  // a step without targets has no gradient, and counts
  const double scale = targets > 0 ? o.nominal_targets / targets : 0;
  const double norm = product(std::sqrt(*scalars.norm2), scale);
  s.finite = std::isfinite(norm);
  const double clip = o.max_grad_norm > 0 ? o.max_grad_norm / sum(norm, 1e-6) : 1.0;
  s.gradient_factor = static_cast<float>(product(scale, clip < 1.0 ? clip : 1.0));
  return s;
}

}  // namespace trainx::kernels
