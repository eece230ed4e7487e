// Shared memory that a block may ask for on the device that kernels are launched on.
#pragma once
#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstdlib>

namespace trainx::kernels {

/// What every GPU gives a block that kernels are compiled for: 99 KiB on capability 8.6, 8.9 and
/// 12.0; 8.0 has 163 KiB, 9.0 and 10.0 have 227 KiB.
constexpr int least_shared_bytes = 99 * 1024;

/// `bytes` of a device, or `cap` KiB where that is less; null: no cap. 0: the cap is not a whole
/// number from 99 on.
inline int capped_shared_bytes(int bytes, const char* cap) {
  if (!cap) return bytes;
  char* end = nullptr;
  const long kib = std::strtol(cap, &end, 10);
  if (end == cap || *end != '\0' || kib < least_shared_bytes / 1024 || kib > 1024) return 0;
  return std::min(bytes, static_cast<int>(kib) * 1024);
}

/// Bytes for a block, static and dynamic together. For tests, TRAINX_TEST_SHARED_MEMORY_KIB caps
/// them, so that a GPU that has more runs the kernels of one that has less.
inline cudaError_t shared_memory_of_block(int& bytes) {
  static const char* const cap = std::getenv("TRAINX_TEST_SHARED_MEMORY_KIB");
  int device = 0, most = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
      error != cudaSuccess)
    return error;
  bytes = capped_shared_bytes(most, cap);
  return bytes > 0 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace trainx::kernels
