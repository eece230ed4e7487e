// Dropout of a module of the user's own that computes the same wherever it runs.
#pragma once
#include <ATen/core/Tensor.h>

namespace trainx {

/// In training: x with elements zeroed with `probability`, in [0, 1), and the others multiplied by
/// 1 / (1 - probability); else x. x: floating, its first dimension a multiple of the micro-batch.
///
/// In a forward that trainx calls, which elements these are follows from run.seed, the module, the
/// number of the call in the forward, the sample's position in the data and the element alone.
/// They are the same on CPUs and GPUs, for any cut of the batch, in recomputation and after a
/// resume; in a CUDA graph they differ from step to step, which torch::nn::Dropout's cannot.
/// Elsewhere LibTorch's generator draws. Throws std::invalid_argument.
at::Tensor dropout(const at::Tensor& x, double probability, bool training);

}  // namespace trainx
