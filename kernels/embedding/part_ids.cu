#include "kernels/embedding/part_ids.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

__global__ void part_ids_kernel(PartIds op) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < op.tokens_count) op.ids[i] = part_id(op, i);
}

}  // namespace

cudaError_t part_ids(const PartIds& op, cudaStream_t stream) {
  if (op.tokens_count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>((op.tokens_count + threads - 1) / threads);
  part_ids_kernel<<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
