#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

/// Of the device that the thread launches on.
inline cudaError_t multiprocessors_of_device(int& multiprocessors) {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  return cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
}

/// Thread blocks for `work` items of a loop over the grid: enough to fill the device, never more
/// than there is work.
inline cudaError_t blocks_for(std::int64_t work, int blocks_per_multiprocessor, unsigned& blocks) {
  int multiprocessors = 0;
  if (const cudaError_t error = multiprocessors_of_device(multiprocessors); error != cudaSuccess)
    return error;
  const std::int64_t full = static_cast<std::int64_t>(multiprocessors) * blocks_per_multiprocessor;
  blocks = static_cast<unsigned>(work < full ? work : full);
  return cudaSuccess;
}

}  // namespace trainx::kernels
