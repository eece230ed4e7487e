// Sums in the order in which a block of 256 threads takes them, on the host.
#pragma once
#include <cstdint>

namespace trainx::kernels {

constexpr int sum_threads = 256;

/// Each warp halves and halves again, and the warps follow one another. Spoils `lanes`.
inline double fold_lanes(double (&lanes)[sum_threads]) {
  double total = 0;
  for (int warp = 0; warp < sum_threads / 32; ++warp) {
    double* const x = lanes + 32 * warp;
    for (int offset = 16; offset > 0; offset /= 2)
      for (int lane = 0; lane < offset; ++lane) x[lane] += x[lane + offset];
    total += x[0];
  }
  return total;
}

/// Thread t adds term(t), term(t + 256), ...; then the threads are folded.
template <class Term>
double lane_sum(std::int64_t n, const Term& term) {
  double lanes[sum_threads] = {};
  for (std::int64_t i = 0; i < n; ++i) lanes[i % sum_threads] += term(i);
  return fold_lanes(lanes);
}

}  // namespace trainx::kernels
