#pragma once
#include "kernels/optimizer/update.hpp"
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

struct SgdSettings {
  double momentum = 0;  // 0: no velocity is kept, ranges have no state
  bool nesterov = false;
  double weight_decay = 0;
  ScaleSettings scale;
};

/// In-place SGD, with momentum in the form of torch.optim.SGD (Sutskever et al. 2013), over all
/// ranges, in fp32; the state is the velocity. Otherwise as adamw; the reference gives the same
/// bits.
void sgd_reference(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                   const SgdSettings& settings);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t sgd(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                const SgdSettings& settings, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
