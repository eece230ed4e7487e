#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// sum[n] += in[n]. Pointers need their element's alignment; 16 bytes are faster. They must not
/// overlap.
void add_reference(float* sum, const float* in, std::int64_t elements);
void add_reference(float* sum, const Bf16* in, std::int64_t elements);
void add_reference(double* sum, const double* in, std::int64_t elements);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t add(float* sum, const float* in, std::int64_t elements, cudaStream_t stream);
cudaError_t add(float* sum, const Bf16* in, std::int64_t elements, cudaStream_t stream);
/// Of few numbers: parts of a norm.
cudaError_t add(double* sum, const double* in, std::int64_t elements, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
