// A loop over the elements of a matrix.
#pragma once
#include "kernels/launch.hpp"

namespace trainx::kernels {

/// Calls f(row, column) for each.
template <class F>
__global__ void __launch_bounds__(256) for_elements(std::int64_t rows, int columns, F f) {
  const std::int64_t all = rows * columns, step = static_cast<std::int64_t>(gridDim.x) * 256;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < all;
       i += step)
    f(i / columns, static_cast<int>(i % columns));
}

/// Of a function of the device; asynchronous on `stream`, returns the status of the launch.
template <class F>
cudaError_t launch_for_elements(std::int64_t rows, std::int64_t columns, cudaStream_t stream, F f) {
  if (rows == 0 || columns == 0) return cudaSuccess;
  if (columns > INT32_MAX) return cudaErrorInvalidValue;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((rows * columns + 255) / 256, 16, blocks);
      error != cudaSuccess)
    return error;
  for_elements<<<blocks, 256, 0, stream>>>(rows, static_cast<int>(columns), f);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
