#include "kernels/eight.cuh"
#include "kernels/embedding/scale.hpp"
#include "kernels/launch.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

template <class T, bool aligned>
__global__ void __launch_bounds__(threads)
    scale_kernel(T* out, const T* in, std::int64_t elements, float factor) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads * 8;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) * 8;
       i < elements; i += step) {
    const int count = static_cast<int>(elements - i < 8 ? elements - i : 8);
    // the last piece may be cut short
    const bool whole = aligned && count == 8;
    float x[8];
    widen8(whole ? load8<true>(in + i, 8) : load8<false>(in + i, count), x);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = product(x[j], factor);
    Eight<T> to;
    narrow8(x, to);
    if (whole)
      store8<true>(out + i, to, 8);
    else
      store8<false>(out + i, to, count);
  }
}

}  // namespace

template <class T>
cudaError_t scale(T* out, const T* in, std::int64_t elements, double factor, cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((elements + 8 * threads - 1) / (8 * threads),
                                           blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  const auto by = static_cast<float>(factor);
  if (aligned16(out) && aligned16(in))
    scale_kernel<T, true><<<blocks, threads, 0, stream>>>(out, in, elements, by);
  else
    scale_kernel<T, false><<<blocks, threads, 0, stream>>>(out, in, elements, by);
  return cudaGetLastError();
}

template cudaError_t scale(float*, const float*, std::int64_t, double, cudaStream_t);
template cudaError_t scale(Bf16*, const Bf16*, std::int64_t, double, cudaStream_t);
template cudaError_t scale(Fp16*, const Fp16*, std::int64_t, double, cudaStream_t);

}  // namespace trainx::kernels
