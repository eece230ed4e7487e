#include "kernels/eight.cuh"
#include "kernels/launch.hpp"
#include "kernels/reduce/add.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

template <class From, bool aligned>
__global__ void __launch_bounds__(threads)
    add_kernel(float* sum, const From* in, std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads * 8;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) * 8;
       i < elements; i += step) {
    const int count = static_cast<int>(elements - i < 8 ? elements - i : 8);
    // the last piece may be cut short
    const bool whole = aligned && count == 8;
    float x[8], y[8];
    widen8(whole ? load8<true>(in + i, 8) : load8<false>(in + i, count), x);
    widen8(whole ? load8<true>(sum + i, 8) : load8<false>(sum + i, count), y);
#pragma unroll
    for (int j = 0; j < 8; ++j) y[j] += x[j];
    Eight<float> to;
    narrow8(y, to);
    if (whole)
      store8<true>(sum + i, to, 8);
    else
      store8<false>(sum + i, to, count);
  }
}

__global__ void __launch_bounds__(threads)
    add_exact_kernel(double* sum, const double* in, std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < elements;
       i += step)
    sum[i] += in[i];
}

template <class From>
cudaError_t launch(float* sum, const From* in, std::int64_t elements, cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((elements + 8 * threads - 1) / (8 * threads),
                                           blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (aligned16(sum) && aligned16(in))
    add_kernel<From, true><<<blocks, threads, 0, stream>>>(sum, in, elements);
  else
    add_kernel<From, false><<<blocks, threads, 0, stream>>>(sum, in, elements);
  return cudaGetLastError();
}

}  // namespace

cudaError_t add(float* sum, const float* in, std::int64_t elements, cudaStream_t stream) {
  return launch(sum, in, elements, stream);
}
cudaError_t add(float* sum, const Bf16* in, std::int64_t elements, cudaStream_t stream) {
  return launch(sum, in, elements, stream);
}
cudaError_t add(double* sum, const double* in, std::int64_t elements, cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error =
          blocks_for((elements + threads - 1) / threads, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  add_exact_kernel<<<blocks, threads, 0, stream>>>(sum, in, elements);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
