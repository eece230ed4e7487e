#pragma once
#include "kernels/bits.hpp"
#include "kernels/host_device.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Of rows of logits[R, K] against real numbers targets[R, K]: the squared difference, or the
/// binary cross-entropy of the logit's sigmoid, the mean over a row. A row whose first target is
/// NaN has no target and counts nowhere.
template <class T>
struct ValueLoss {
  std::int64_t rows = 0, columns = 0;  // R, K
  T* logits = nullptr;
  const float* targets = nullptr;
  bool binary = false;
  // logits become the gradient of the sum times `factor`, times *loss_scale where it is not null
  bool with_gradient = false;
  double factor = 1;
  const double* loss_scale = nullptr;
};

struct ValueLossAt {
  double loss, slope;
};
/// At one logit. log(1 + exp(x)) - x * target is taken without an exponential that overflows.
TRAINX_HOST_DEVICE ValueLossAt value_loss_at(bool binary, double x, double target) {
  if (!binary) return {(x - target) * (x - target), 2 * (x - target)};
  const double e = exp(-fabs(x));
  return {fmax(x, 0.0) - x * target + log1p(e), (x < 0 ? e : 1) / (1 + e) - target};
}

/// T: float, Bf16 or Fp16; double in arithmetic. Sums are in one order: repeats give the same bits.
template <class T>
void value_loss_reference(const ValueLoss<T>& op, const LossSums& sums);
#if __has_include(<cuda_runtime_api.h>)
/// One block, asynchronous on `stream`; returns the status of the launch.
template <class T>
cudaError_t value_loss(const ValueLoss<T>& op, const LossSums& sums, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
