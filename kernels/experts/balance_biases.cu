#include "kernels/experts/balance_biases.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

__global__ void __launch_bounds__(threads) balance_biases_kernel(BalanceBiases op) {
  if (!isfinite(*op.norm2)) return;
  // whole numbers: their sum is exact in any order
  double sum = 0;
  for (int e = 0; e < op.experts; ++e) sum += op.loads[e];
  const double mean = sum / op.experts;
  for (int i = static_cast<int>(threadIdx.x); i < op.count; i += threads) {
    const double missing = mean - op.loads[op.first + i];
    if (missing != 0) op.biases[i] += static_cast<float>(missing > 0 ? op.rate : -op.rate);
  }
}

}  // namespace

cudaError_t balance_biases(const BalanceBiases& op, cudaStream_t stream) {
  if (op.count == 0) return cudaSuccess;
  balance_biases_kernel<<<1, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
