#pragma once
#include "kernels/activation/activation_kind.hpp"
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// out[N, F] = f(x[:, :F]) * x[:, F:] of x[N, 2 F]: the gate and what it opens (Shazeer 2020,
/// arXiv:2002.05202).
template <class T>
struct Gated {
  std::int64_t rows = 0, columns = 0;  // N >= 0, F from 0 to 2^29
  const T* x = nullptr;
  T* out = nullptr;
};

/// Of d_out[N, F]: d_x[:, :F] = d_out * f'(gate) * up, d_x[:, F:] = d_out * f(gate).
template <class T>
struct GatedBackward {
  std::int64_t rows = 0, columns = 0;
  const T* d_out = nullptr;
  const T* x = nullptr;
  T* d_x = nullptr;  // [N, 2 F]; may be x
};

/// T: float, Bf16 or Fp16; fp32 in arithmetic, rounded once; NaN stays NaN. Bytes of an element of
/// `out`: forward reads two T and writes one, backward reads three and writes two. Pointers need
/// their element's alignment; 16 bytes, with F a multiple of 8, are faster. The references work on
/// host memory, in double precision.
template <class T>
void gated_reference(const Gated<T>& op, ActivationKind kind);
template <class T>
void gated_backward_reference(const GatedBackward<T>& op, ActivationKind kind);
/// Asynchronous on `stream`; one launch, whose status is returned.
template <class T>
cudaError_t gated(const Gated<T>& op, ActivationKind kind, cudaStream_t stream);
template <class T>
cudaError_t gated_backward(const GatedBackward<T>& op, ActivationKind kind, cudaStream_t stream);

}  // namespace trainx::kernels
