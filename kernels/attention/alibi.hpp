#pragma once
#include "kernels/host_device.hpp"

namespace trainx::kernels {

/// By what scores of a head fall with each token of distance (ALiBi: Press et al. 2021,
/// arXiv:2108.12409): a geometric sequence from 2^(-8 / heads) on; where heads are no power of two
/// those of the power below, and between them every other one of twice that power.
TRAINX_HOST_DEVICE float alibi_slope(long head, long heads) {
  long power = 1;
  while (2 * power <= heads) power *= 2;
  const bool between = head >= power;
  const auto n = static_cast<double>(between ? 2 * (head - power) + 1 : head + 1);
  return static_cast<float>(exp2(-8 * n / static_cast<double>(between ? 2 * power : power)));
}

}  // namespace trainx::kernels
