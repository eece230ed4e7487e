#include "kernels/step/step_scalars.hpp"
#include "kernels/step/loss_scale.hpp"

namespace trainx::kernels {
namespace {

__global__ void advance_kernel(std::int64_t* counter, const double* guard) {
  *counter += !guard || isfinite(*guard);
}

__global__ void loss_scale_kernel(double* state, const double* norm2, LossScaleSettings settings) {
  advance_loss_scale(state, isfinite(*norm2), settings);
}

__global__ void store_report_kernel(StepReport* report, StepScalars s) {
  StepReport r;
  if (s.loss_sum) r.loss_sum = *s.loss_sum;
  if (s.target_count) r.target_count = *s.target_count;
  if (s.norm2) r.norm2 = *s.norm2;
  if (s.loss_scale) r.loss_scale = *s.loss_scale;
  if (s.applied_steps) {
    r.applied_steps = *s.applied_steps;
    const std::int64_t before = r.applied_steps - (!s.norm2 || isfinite(*s.norm2));
    r.lr = s.lr_table[before < s.lr_entries ? before : s.lr_entries - 1];
  }
  *report = r;
}

}  // namespace

cudaError_t advance(std::int64_t* counter, const double* guard, cudaStream_t stream) {
  advance_kernel<<<1, 1, 0, stream>>>(counter, guard);
  return cudaGetLastError();
}

cudaError_t advance_loss_scale(double* state, const double* norm2,
                               const LossScaleSettings& settings, cudaStream_t stream) {
  loss_scale_kernel<<<1, 1, 0, stream>>>(state, norm2, settings);
  return cudaGetLastError();
}

cudaError_t store_report(StepReport* report, const StepScalars& scalars, cudaStream_t stream) {
  store_report_kernel<<<1, 1, 0, stream>>>(report, scalars);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
