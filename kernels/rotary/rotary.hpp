#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) of the first `heads` heads of each
/// row of x[N, C], those of queries and of keys; other columns, and the elements of a head behind
/// the rotated ones, are copied. Memory of the device, but for `frequencies`; for the reference, of
/// the host.
template <class T>
struct Rotary {
  std::int64_t rows = 0, columns = 0;  // N, C >= heads * head_size; C below 2^31
  std::int64_t length = 1, past = 0;   // rows of a sample; the position of its first row
  std::int64_t heads = 0, head_size = 0;
  // [pairs], radians a position, of the host: they travel with the launch. At most most_pairs, and
  // 2 * pairs <= head_size.
  const float* frequencies = nullptr;
  std::int64_t pairs = 0;
  double factor = 1;        // of cos and sin
  bool neighbours = false;  // pairs are neighbours; else one of each half of the rotated elements
  bool back = false;        // turned the other way: the gradient
  double clip = 0;          // x is cut to [-clip, clip] first; 0: it is not
  const T* x = nullptr;
  T* y = nullptr;  // may be x
  // of a gradient, x of forward: y is 0 where that was cut; null: nothing was
  const T* cut = nullptr;
  // [N]: where in the sample a token's document begins, whose positions count from there, -1:
  // padding, at the first; null: 0 each
  const std::int32_t* starts = nullptr;
};

constexpr std::int64_t most_pairs = 512;

/// T: float, Bf16 or Fp16; fp32 in arithmetic, rounded once; the angle is rounded to fp32 before
/// its cosine. NaN carries through to its pair. Bytes of an element: reads one T and writes one, in
/// place only of those that change. Pointers need their element's alignment; 16 bytes are faster,
/// where heads, rows and rotated elements are multiples of 8.
template <class T>
void rotary_reference(const Rotary<T>& op);
/// Asynchronous on `stream`; one launch, whose status is returned.
template <class T>
cudaError_t rotary(const Rotary<T>& op, cudaStream_t stream);

}  // namespace trainx::kernels
