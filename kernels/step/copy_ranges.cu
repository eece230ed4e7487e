#include "kernels/step/copy_ranges.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr std::int64_t bytes_of_block = std::int64_t{16} * threads;

// Passed by value: an array of the standard library has no functions on the device.
struct Ranges {
  CopiedRange at[most_copied_ranges];
};

__global__ void __launch_bounds__(threads)
    copy_ranges_kernel(const __grid_constant__ Ranges ranges) {
  const CopiedRange range = ranges.at[blockIdx.y];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x,
                     stride = static_cast<std::int64_t>(gridDim.x) * threads;
  const bool aligned =
      (reinterpret_cast<std::uintptr_t>(range.from) | reinterpret_cast<std::uintptr_t>(range.to)) %
          16 ==
      0;
  const std::int64_t words = aligned ? range.bytes / 16 : 0;
  for (std::int64_t w = first; w < words; w += stride)
    reinterpret_cast<uint4*>(range.to)[w] = reinterpret_cast<const uint4*>(range.from)[w];
  for (std::int64_t b = 16 * words + first; b < range.bytes; b += stride)
    range.to[b] = range.from[b];
}

}  // namespace

cudaError_t copy_ranges(const CopiedRanges& ranges, cudaStream_t stream) {
  Ranges given{};
  unsigned count = 0;
  std::int64_t longest = 0;
  for (const CopiedRange& range : ranges) {
    if (range.bytes == 0) continue;
    given.at[count++] = range;
    longest = std::max(longest, range.bytes);
  }
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>((longest + bytes_of_block - 1) / bytes_of_block, 1024));
  copy_ranges_kernel<<<dim3(blocks, count), threads, 0, stream>>>(given);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
