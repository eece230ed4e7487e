#include "kernels/eight.cuh"
#include "kernels/launch.hpp"
#include "kernels/loss/changed_logit.cuh"
#include "kernels/loss/scale_and_cap.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

// A block takes one row after the other.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads)
    scale_and_cap_kernel(ScaleAndCap<T> op, ChangeFactors by) {
  const int classes = static_cast<int>(op.vocab_size);
  for (std::int64_t r = blockIdx.x; r < op.rows; r += gridDim.x) {
    T* const row = op.logits + r * op.columns;
    for (int c = 8 * static_cast<int>(threadIdx.x); c < classes; c += 8 * threads) {
      // the last piece may be cut short
      const bool whole = aligned && c + 8 <= classes;
      float x[8];
      widen8(whole ? load8<true>(row + c, 8) : load8<false>(row + c, classes - c), x);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = changed<T>(x[j], by).value;
      Eight<T> to;
      narrow8(x, to);
      if (whole)
        store8<true>(row + c, to, 8);
      else
        store8<false>(row + c, to, classes - c);
    }
  }
}

}  // namespace

template <class T>
cudaError_t scale_and_cap(const ScaleAndCap<T>& op, cudaStream_t stream) {
  if (op.rows == 0 || op.vocab_size == 0) return cudaSuccess;
  if (op.vocab_size > op.columns || op.columns >= std::int64_t{1} << 30)
    return cudaErrorInvalidValue;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(op.rows, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (op.columns % 8 == 0 && aligned16(op.logits))
    scale_and_cap_kernel<T, true><<<blocks, threads, 0, stream>>>(op, factors_of(op.change));
  else
    scale_and_cap_kernel<T, false><<<blocks, threads, 0, stream>>>(op, factors_of(op.change));
  return cudaGetLastError();
}

template cudaError_t scale_and_cap(const ScaleAndCap<float>&, cudaStream_t);
template cudaError_t scale_and_cap(const ScaleAndCap<Bf16>&, cudaStream_t);
template cudaError_t scale_and_cap(const ScaleAndCap<Fp16>&, cudaStream_t);

}  // namespace trainx::kernels
