// LogitChange in double precision.
#pragma once
#include "kernels/loss/loss_form.hpp"
#include <cmath>

namespace trainx::kernels {

struct ExactlyChanged {
  double value, slope;
};
inline ExactlyChanged exactly_changed(double x, const LogitChange& c) {
  if (c.soft_cap <= 0) return {x * c.scale, c.scale};
  const double u = std::tanh(x * c.scale / c.soft_cap);
  return {c.soft_cap * u, c.scale * (1 - u * u)};
}

}  // namespace trainx::kernels
