#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// out[n] = in[n] * factor in fp32, rounded once: the bits of the reference; NaN stays NaN. `out`
/// may be `in`. T: float, Bf16 or Fp16. Bytes of an element: reads one T and writes one. Pointers
/// need their element's alignment; 16 bytes are faster.
template <class T>
void scale_reference(T* out, const T* in, std::int64_t elements, double factor);
/// Asynchronous on `stream`; one launch, whose status is returned.
template <class T>
cudaError_t scale(T* out, const T* in, std::int64_t elements, double factor, cudaStream_t stream);

}  // namespace trainx::kernels
