// The backward of a norm whose parameters are frozen: no sums over rows are wanted.
#pragma once
#include <cuda_runtime_api.h>
#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/random/dropout_factors.cuh"

namespace trainx::kernels {

/// Whether norm_backward_rows computes `op`: its gradients of columns are not wanted, and its rows
/// are of at most 8192 columns that may be read by 16 bytes.
template <class T>
bool takes_rows_alone(const LayerNormBackward<T>& op);

/// Writes dx and d_branch as norm_backward does. Rows are independent of one another: many small
/// blocks hide the memory's latency where sums over columns would hold a thread's registers.
/// Asynchronous on `stream`; returns the status of its launch.
template <class T>
cudaError_t norm_backward_rows(const LayerNormBackward<T>& op, const NormFactors& form,
                               const DropoutFactors& dropout, cudaStream_t stream);

}  // namespace trainx::kernels
