#include "kernels/cast/cast.hpp"
#include "kernels/eight.cuh"
#include "kernels/launch.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

template <class To, class From, bool aligned>
__global__ void __launch_bounds__(threads)
    cast_kernel(To* out, const From* in, std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads * 8;
#pragma unroll 2
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) * 8;
       i < elements; i += step) {
    const int count = static_cast<int>(elements - i < 8 ? elements - i : 8);
    // the last piece may be cut short
    const bool whole = aligned && count == 8;
    float x[8];
    widen8(whole ? load8<true>(in + i, 8) : load8<false>(in + i, count), x);
    Eight<To> to;
    narrow8(x, to);
    if (whole)
      store8<true>(out + i, to, 8);
    else
      store8<false>(out + i, to, count);
  }
}

template <class To, class From>
cudaError_t launch(To* out, const From* in, std::int64_t elements, cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((elements + 8 * threads - 1) / (8 * threads),
                                           blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (aligned16(out) && aligned16(in))
    cast_kernel<To, From, true><<<blocks, threads, 0, stream>>>(out, in, elements);
  else
    cast_kernel<To, From, false><<<blocks, threads, 0, stream>>>(out, in, elements);
  return cudaGetLastError();
}

}  // namespace

cudaError_t cast(float* out, const Bf16* in, std::int64_t elements, cudaStream_t stream) {
  return launch(out, in, elements, stream);
}
cudaError_t cast(Bf16* out, const float* in, std::int64_t elements, cudaStream_t stream) {
  return launch(out, in, elements, stream);
}
cudaError_t cast(float* out, const Fp16* in, std::int64_t elements, cudaStream_t stream) {
  return launch(out, in, elements, stream);
}
cudaError_t cast(Fp16* out, const float* in, std::int64_t elements, cudaStream_t stream) {
  return launch(out, in, elements, stream);
}
cudaError_t cast(Bf16* out, const Fp16* in, std::int64_t elements, cudaStream_t stream) {
  return launch(out, in, elements, stream);
}
cudaError_t cast(Fp16* out, const Bf16* in, std::int64_t elements, cudaStream_t stream) {
  return launch(out, in, elements, stream);
}

}  // namespace trainx::kernels
