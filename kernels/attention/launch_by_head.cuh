// Launches one of the attention kernels over (tiles of tokens, heads, samples), with tiles that fit the head size.
#pragma once
#include <cmath>
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

template <class Kernel, class... Arguments>
__global__ void __launch_bounds__(tiles::threads) attention_kernel(Arguments... arguments) {
  Kernel::run(arguments...);
}

template <class Kernel, int Rows, class... Arguments>
cudaError_t launch_tiles(const AttentionSize& size, cudaStream_t stream, Arguments... arguments) {
  const AttentionShape shape{size.tokens, static_cast<int>(size.heads), static_cast<int>(size.head_size), size.causal, static_cast<float>(1 / std::sqrt(static_cast<double>(size.head_size)))};
  constexpr int bytes = Kernel::shared_floats * static_cast<int>(sizeof(float));
  const auto kernel = attention_kernel<Kernel, Arguments..., AttentionShape>;
  if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes); error != cudaSuccess) return error;
  const dim3 grid(static_cast<unsigned>((size.tokens + Rows - 1) / Rows), static_cast<unsigned>(size.heads), static_cast<unsigned>(size.batch));
  kernel<<<grid, tiles::threads, bytes, stream>>>(arguments..., shape);
  return cudaGetLastError();
}

/// `Kernel<Rows, Width, T>::run(arguments..., shape)` is the body.
template <template <int, int, class> class Kernel, class T, class... Arguments>
cudaError_t launch_by_head(const AttentionSize& size, cudaStream_t stream, Arguments... arguments) {
  if (size.batch == 0 || size.tokens == 0 || size.heads == 0) return cudaSuccess;
  if (size.head_size < 1 || size.head_size > largest_attention_head || size.batch > 65535 || size.heads > 65535) return cudaErrorInvalidValue;
  if (size.head_size <= 64) return launch_tiles<Kernel<64, 64, T>, 64>(size, stream, arguments...);
  if (size.head_size <= 128) return launch_tiles<Kernel<64, 128, T>, 64>(size, stream, arguments...);
  return launch_tiles<Kernel<32, 256, T>, 32>(size, stream, arguments...);
}

}  // namespace trainx::kernels
