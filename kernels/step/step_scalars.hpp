// Counters and scalars of a step, which live on the device so that nothing in a step waits for the
// host.
#pragma once
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// What the host is told of a step.
struct StepReport {
  double loss_sum = 0, target_count = 0, norm2 = 0, lr = 0;
  std::int64_t applied_steps = 0;  // after the step
  double loss_scale = 1;           // the one used
};

/// Device addresses; null: not told (0).
struct StepScalars {
  const double* loss_sum = nullptr;
  const double* target_count = nullptr;
  const double* norm2 = nullptr;
  const std::int64_t* applied_steps = nullptr;
  const double* lr_table = nullptr;  // by applied steps; the last entry holds beyond its end
  std::int64_t lr_entries = 0;
  const double* loss_scale = nullptr;  // null: 1
};

#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; each is one launch of one thread, whose status is returned.
/// ++*counter, but where *guard is not finite (null: always).
cudaError_t advance(std::int64_t* counter, const double* guard, cudaStream_t stream);
/// lr is the one that the step used: that of the applied steps before it.
cudaError_t store_report(StepReport* report, const StepScalars& scalars, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
