#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

/// to[columns, rows] = values[rows, columns]: bytes. Any pointers and sizes; 16 bytes, with rows
/// and columns multiples of 16, are faster. Asynchronous on `stream`; returns the status of the
/// launch.
cudaError_t transpose_fp8(std::uint8_t* to, const std::uint8_t* values, std::int64_t rows,
                          std::int64_t columns, cudaStream_t stream);

}  // namespace trainx::kernels
