#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// out[n] = in[n], rounded to nearest, ties to even, beyond the largest to infinity; NaN stays NaN.
/// Pointers need their element's alignment; 16 bytes are faster.
void cast_reference(float* out, const Bf16* in, std::int64_t elements);
void cast_reference(Bf16* out, const float* in, std::int64_t elements);
void cast_reference(float* out, const Fp16* in, std::int64_t elements);
void cast_reference(Fp16* out, const float* in, std::int64_t elements);
void cast_reference(Bf16* out, const Fp16* in, std::int64_t elements);
void cast_reference(Fp16* out, const Bf16* in, std::int64_t elements);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t cast(float* out, const Bf16* in, std::int64_t elements, cudaStream_t stream);
cudaError_t cast(Bf16* out, const float* in, std::int64_t elements, cudaStream_t stream);
cudaError_t cast(float* out, const Fp16* in, std::int64_t elements, cudaStream_t stream);
cudaError_t cast(Fp16* out, const float* in, std::int64_t elements, cudaStream_t stream);
cudaError_t cast(Bf16* out, const Fp16* in, std::int64_t elements, cudaStream_t stream);
cudaError_t cast(Fp16* out, const Bf16* in, std::int64_t elements, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
