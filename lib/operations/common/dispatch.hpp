// Where an operation computes: where its tensors lie.
#pragma once
#include "tensor/tensor.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

/// Whether the CUDA backends are compiled. If not, only a discarded `if constexpr` may name them.
#ifdef TRAINX_CUDA
constexpr bool has_cuda = true;
#else
constexpr bool has_cuda = false;
#endif

/// What operations on the tensor are launched with; null for one of the host. InternalError for a
/// tensor of a GPU outside a GpuScope.
const Gpu* gpu_of(const Tensor& t);

}  // namespace trainx::operations
