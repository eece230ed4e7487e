#pragma once
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// loads[E + 1] = or += how many rows each expert has, and last how many of all choices have none.
struct ExpertLoads {
  int experts = 1;
  std::int64_t choices = 0;
  const std::int32_t* offsets = nullptr;  // [E + 1]: first rows of experts, and the end of all
  double* loads = nullptr;
  bool accumulate = false;
};

void expert_loads_reference(const ExpertLoads& op);
#if __has_include(<cuda_runtime_api.h>)
/// One block, asynchronous on `stream`; returns the status of the launch.
cudaError_t expert_loads(const ExpertLoads& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
