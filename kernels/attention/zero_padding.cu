#include "kernels/attention/attention.hpp"

namespace trainx::kernels {

namespace {

// One block for eight rows; those of real tokens are left at once.
__global__ void zero_rows(std::uint16_t* rows, const std::int32_t* lengths, long tokens,
                          long width) {
  const long b = blockIdx.y, first = static_cast<long>(blockIdx.x) * 8;
  for (long t = max(first, static_cast<long>(lengths[b])); t < min(first + 8, tokens); ++t)
    for (long i = threadIdx.x; i < width; i += blockDim.x) rows[(b * tokens + t) * width + i] = 0;
}

}  // namespace

cudaError_t zero_padding(std::uint16_t* rows, const std::int32_t* lengths, std::int64_t batch,
                         std::int64_t tokens, std::int64_t width, cudaStream_t stream) {
  if (batch == 0 || tokens == 0 || width == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>((tokens + 7) / 8), static_cast<unsigned>(batch));
  zero_rows<<<grid, 256, 0, stream>>>(rows, lengths, tokens, width);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
