#include "kernels/embedding/sorted_rows.hpp"
#include "kernels/launch.hpp"
#include <cub/device/device_radix_sort.cuh>

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

__global__ void __launch_bounds__(threads) count_up(std::int32_t* to, std::int64_t n) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * threads)
    to[i] = static_cast<std::int32_t>(i);
}

constexpr std::int64_t padded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }
// What cub asks for: a second copy of keys and values, and bookkeeping by tile. Known without a
// GPU; checked against its own answer at each launch.
constexpr std::int64_t cub_bytes(std::int64_t n) { return padded(10 * n) + (1 << 20); }

}  // namespace

std::int64_t sort_bytes(std::int64_t n) { return padded(4 * n) + cub_bytes(n); }

cudaError_t sort_tokens(std::int32_t* keys, std::int32_t* rows, const std::int32_t* tokens,
                        std::int64_t n, std::int64_t vocab_size, void* temporary,
                        cudaStream_t stream) {
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((n + threads - 1) / threads, 8, blocks);
      error != cudaSuccess)
    return error;
  auto* const counted = static_cast<std::int32_t*>(temporary);
  void* const for_cub = static_cast<char*>(temporary) + padded(4 * n);
  count_up<<<blocks, threads, 0, stream>>>(counted, n);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  int bits = 1;
  while (bits < 31 && (std::int64_t{1} << bits) < vocab_size) ++bits;
  const auto* const unsigned_tokens = reinterpret_cast<const std::uint32_t*>(tokens);
  auto* const unsigned_keys = reinterpret_cast<std::uint32_t*>(keys);
  const int count = static_cast<int>(n);
  std::size_t needed = 0;
  if (const cudaError_t error = cub::DeviceRadixSort::SortPairs(
          nullptr, needed, unsigned_tokens, unsigned_keys, counted, rows, count, 0, bits, stream);
      error != cudaSuccess)
    return error;
  if (needed > static_cast<std::size_t>(cub_bytes(n))) return cudaErrorInvalidValue;
  return cub::DeviceRadixSort::SortPairs(for_cub, needed, unsigned_tokens, unsigned_keys, counted,
                                         rows, count, 0, bits, stream);
}

}  // namespace trainx::kernels
