#pragma once
#include <cuda_runtime_api.h>
#include <string>
#include "core/error.hpp"

namespace trainx::gpu {

/// A GPU, its driver or one of its libraries cannot do what was asked: exit code 69, or 71 where
/// device memory is what is missing.
class GpuError : public UserError {
 public:
  using UserError::UserError;
};

/// `doing` in the sentence: "cannot tune GEMM ...".
inline void require(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return;
  const ExitCode code = error == cudaErrorMemoryAllocation ? ExitCode::out_of_memory
                                                           : ExitCode::unavailable;
  throw GpuError(code, doing + ": " + cudaGetErrorString(error) + " (CUDA error " +
                           std::to_string(static_cast<int>(error)) + ")");
}

}  // namespace trainx::gpu
