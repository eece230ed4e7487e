#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::gpu {

/// A stream and the device memory (256-byte aligned) that libraries may use while their work on
/// this stream lasts. Streams that compute at one time need a workspace each.
struct StreamSpace {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::int64_t workspace_bytes = 0;
};

}  // namespace trainx::gpu
