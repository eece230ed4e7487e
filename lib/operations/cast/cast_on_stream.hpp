// Casts and sums on any stream: a step makes them beside its computation, too.
#pragma once
#include "tensor/tensor.hpp"
#include <cuda_runtime_api.h>

namespace trainx::operations::cuda {

/// Of contiguous tensors of a GPU. Throws GpuError, InternalError for types that there is no kernel
/// for.
void cast(const Tensor& to, const Tensor& from, cudaStream_t stream);
void add(const Tensor& to, const Tensor& from, cudaStream_t stream);

}  // namespace trainx::operations::cuda
