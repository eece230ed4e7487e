#include "imports/run_length.hpp"
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace trainx::imports {

double tidy(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.12g", x);
  return std::strtod(text, nullptr);
}

Duration of_steps(std::int64_t n) { return {static_cast<double>(n), Duration::Unit::steps}; }

Duration part_of(const Duration& whole, double share) {
  const double amount = tidy(whole.amount * share);
  return {whole.unit == Duration::Unit::steps ? std::ceil(amount) : amount, whole.unit};
}

}  // namespace trainx::imports
