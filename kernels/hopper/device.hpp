#pragma once
#include <cuda_runtime_api.h>

namespace trainx::kernels::hopper {

/// Is the current device of compute capability 9.0?
inline bool is_hopper() {
  int device = 0, major = 0, minor = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
         major == 9 && minor == 0;
}

}  // namespace trainx::kernels::hopper
