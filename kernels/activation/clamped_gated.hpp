#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// A gate with limits: (u + 1) g sigmoid(alpha g), g = min(gate, limit), u = up within +-limit
/// (gpt-oss, arXiv:2508.10925).
struct GateLimits {
  float alpha = 0, limit = 0;
};
/// out[n] of x[2 n], gate and up by turns.
template <class T>
struct ClampedGated {
  std::int64_t n = 0;
  GateLimits limits;
  const T* x = nullptr;
  T* out = nullptr;
};
/// d_x[2 n] of d_out[n]. Nothing passes a limit that is exceeded.
template <class T>
struct ClampedGatedBackward {
  std::int64_t n = 0;
  GateLimits limits;
  const T* d_out = nullptr;
  const T* x = nullptr;
  T* d_x = nullptr;  // may be x
};

/// T: float, Bf16 or Fp16; fp32 in arithmetic, rounded once. Of NaN comes NaN, whose gradient is 0.
/// Bytes of an element of `out`: forward reads two T and writes one, backward reads three and
/// writes two. Pointers need their element's alignment; 16 bytes are faster. The references
/// compute in double precision.
template <class T>
void clamped_gated_reference(const ClampedGated<T>& op);
template <class T>
void clamped_gated_backward_reference(const ClampedGatedBackward<T>& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch, whose status is returned.
template <class T>
cudaError_t clamped_gated(const ClampedGated<T>& op, cudaStream_t stream);
template <class T>
cudaError_t clamped_gated_backward(const ClampedGatedBackward<T>& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
