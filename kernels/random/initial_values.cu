#include "kernels/launch.hpp"
#include "kernels/random/initial_quad.hpp"
#include "kernels/vector4.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

/// Whether four elements from there on can be written at once, where they are written.
template <class T>
__device__ __forceinline__ bool takes_four(const T* p) {
  return !p || aligned4(p);
}

__device__ __forceinline__ void store_four(const InitialPlaces& to, const float (&x)[4]) {
  Four<float> exact;
  Four<Bf16> bf16;
  Four<std::uint16_t> low;
  Four<Fp16> fp16;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    exact.at[j] = x[j];
    bf16.at[j] = nearest_weight(x[j]);
    low.at[j] = low_bits(x[j]);
    narrow(x[j], fp16.at[j]);
  }
  if (to.exact) store4(to.exact, exact);
  if (to.average) store4(to.average, exact);
  if (to.bf16) store4(to.bf16, bf16);
  if (to.low) store4(to.low, low);
  if (to.fp16) store4(to.fp16, fp16);
}

__global__ void __launch_bounds__(threads)
    initial_values_kernel(InitialPlaces to, InitialValues values) {
  const std::int64_t first = values.first, last = first + values.elements,
                     quads_end = (last + 3) / 4;
  for (std::int64_t quad =
           first / 4 + static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       quad < quads_end; quad += static_cast<std::int64_t>(gridDim.x) * threads) {
    const FourValues four = initial_quad(values, quad);
    float x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = initial_value(values, 4 * quad + j, four.at[j]);
    const std::int64_t at = 4 * quad - first;
    const InitialPlaces here = to.from(at);
    if (at >= 0 && 4 * quad + 4 <= last && takes_four(here.exact) && takes_four(here.average) &&
        takes_four(here.bf16) && takes_four(here.low) && takes_four(here.fp16)) {
      store_four(here, x);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (at + j >= 0 && 4 * quad + j < last) store_initial(to, at + j, x[j]);
    }
  }
}

}  // namespace

cudaError_t initial_values(const InitialPlaces& to, const InitialValues& values,
                           cudaStream_t stream) {
  if (values.elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((values.elements / 4 + 2 + threads - 1) / threads,
                                           blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  initial_values_kernel<<<blocks, threads, 0, stream>>>(to, values);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
