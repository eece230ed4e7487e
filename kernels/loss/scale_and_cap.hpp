#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include "kernels/loss/loss_form.hpp"
#include <cstdint>

namespace trainx::kernels {

/// The first `vocab_size` columns of logits[R, Vp] change where they lie.
template <class T>
struct ScaleAndCap {
  std::int64_t rows = 0, columns = 0, vocab_size = 0;  // R, Vp >= vocab_size
  T* logits = nullptr;
  LogitChange change;
};

/// T: float, Bf16 or Fp16; fp32 in arithmetic, rounded once; NaN stays NaN. Bytes of an element:
/// reads one T and writes one. Pointers need their element's alignment; 16 bytes, with Vp a
/// multiple of 8, are faster. The reference works on host memory, in double precision.
template <class T>
void scale_and_cap_reference(const ScaleAndCap<T>& op);
/// Asynchronous on `stream`; one launch, whose status is returned.
template <class T>
cudaError_t scale_and_cap(const ScaleAndCap<T>& op, cudaStream_t stream);

}  // namespace trainx::kernels
