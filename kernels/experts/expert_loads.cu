#include "kernels/experts/expert_loads.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

__global__ void __launch_bounds__(threads) expert_loads_kernel(ExpertLoads op) {
  for (int e = static_cast<int>(threadIdx.x); e <= op.experts; e += threads) {
    const std::int64_t count = e < op.experts ? op.offsets[e + 1] - op.offsets[e]
                                              : op.choices - op.offsets[e];
    op.loads[e] = (op.accumulate ? op.loads[e] : 0.0) + static_cast<double>(count);
  }
}

}  // namespace

cudaError_t expert_loads(const ExpertLoads& op, cudaStream_t stream) {
  expert_loads_kernel<<<1, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
