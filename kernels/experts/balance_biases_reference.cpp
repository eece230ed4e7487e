#include "kernels/experts/balance_biases.hpp"
#include <cmath>
#include <numeric>

namespace trainx::kernels {

void balance_biases_reference(const BalanceBiases& op) {
  if (!std::isfinite(*op.norm2)) return;
  const double mean = std::accumulate(op.loads, op.loads + op.experts, 0.0) / op.experts;
  for (int i = 0; i < op.count; ++i) {
    const double missing = mean - op.loads[op.first + i];
    if (missing != 0) op.biases[i] += static_cast<float>(missing > 0 ? op.rate : -op.rate);
  }
}

}  // namespace trainx::kernels
