// Launches one of the attention kernels over (tiles of tokens, heads, samples), with tiles that fit
// the head size.
#pragma once
#include <cmath>
#include <type_traits>
#include "kernels/attention/attention_tiles.hpp"
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/tiles.cuh"
#include "kernels/launch.hpp"
#include "kernels/shared_memory.hpp"

namespace trainx::kernels {

inline AttentionShape shape_of(const AttentionSize& size) {
  const std::int64_t kv = size.key_value_heads > 0 ? size.key_value_heads : size.heads;
  const double scale = size.scale > 0 ? size.scale
                                      : 1 / std::sqrt(static_cast<double>(size.head_size));
  return {size.tokens,
          static_cast<int>(size.heads),
          static_cast<int>(size.head_size),
          size.causal,
          static_cast<float>(scale),
          static_cast<int>(kv),
          static_cast<int>(size.heads / kv),
          static_cast<float>(size.soft_cap),
          attention_dropout(size.dropout),
          size.biases,
          size.memory};
}

// Of a kernel's arguments the sight alone has traits.
template <class Argument, class = void>
struct SightTraits {
  static constexpr bool dropped = false, biased = false, remote = false;
};
template <class Sight>
struct SightTraits<Sight, std::enable_if_t<Sight::dropped || !Sight::dropped>> : Sight {};

// Random numbers and biases take registers: fewer blocks of a multiprocessor have more.
template <class Kernel, class... Arguments>
__global__ void __launch_bounds__(
    Kernel::threads, ((SightTraits<Arguments>::dropped || SightTraits<Arguments>::biased) || ...)
                         ? 1
                         : Kernel::blocks) attention_kernel(Arguments... arguments) {
  Kernel::run(arguments...);
}

template <class Kernel, class... Arguments>
cudaError_t launch_kernel(const AttentionSize& size, cudaStream_t stream, Arguments... arguments) {
  const AttentionShape shape = shape_of(size);
  constexpr bool biased = (SightTraits<Arguments>::biased || ...),
                 remote = (SightTraits<Arguments>::remote || ...);
  constexpr int bytes = Kernel::shared_bytes + (biased ? Kernel::bucket_bytes : 0);
  const auto kernel = attention_kernel<Kernel, Arguments..., AttentionShape>;
  if (const cudaError_t error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      error != cudaSuccess)
    return error;
  constexpr int rows = Kernel::Place::block_rows;
  constexpr bool of_keys = Kernel::pass == AttentionPass::key_value_gradient;
  const std::int64_t tokens = of_keys && remote ? size.memory.tokens : size.tokens;
  const dim3 grid(static_cast<unsigned>((tokens + rows - 1) / rows),
                  static_cast<unsigned>(of_keys ? shape.key_value_heads : shape.heads),
                  static_cast<unsigned>(size.batch));
  kernel<<<grid, Kernel::threads, bytes, stream>>>(arguments..., shape);
  return cudaGetLastError();
}

inline bool is_launchable(const AttentionSize& size) {
  return size.head_size >= 1 && size.head_size <= largest_attention_head && size.batch <= 65535 &&
         size.heads <= 65535;
}

template <template <int, class, int, int, int, int> class Kernel, class T, int Terms,
          class... Arguments>
cudaError_t launch_width(const AttentionSize& size, cudaStream_t stream, Arguments... arguments) {
  int multiprocessors = 0, shared_bytes = 0;
  if (const cudaError_t error = multiprocessors_of_device(multiprocessors); error != cudaSuccess)
    return error;
  if (const cudaError_t error = shared_memory_of_block(shared_bytes); error != cudaSuccess)
    return error;
  constexpr AttentionPass pass = Kernel<64, T, Terms, 1, 1, tiles::row_warps>::pass;
  return with_attention_tiles<pass, sizeof(T)>(size, multiprocessors, shared_bytes, [&](auto cut) {
    using Cut = decltype(cut);
    return launch_kernel<Kernel<Cut::width, T, Terms, Cut::slices, Cut::row_tiles, Cut::warps>>(
        size, stream, arguments...);
  });
}

/// `Kernel<Width, T, Terms, Slices, RowTiles, Warps>::run(arguments..., shape)` is the body. Of 16
/// bits products have one term.
template <template <int, class, int, int, int, int> class Kernel, class T, class... Arguments>
cudaError_t launch_by_head(const AttentionSize& size, cudaStream_t stream, Arguments... arguments) {
  if (size.batch == 0 || size.tokens == 0 || size.heads == 0) return cudaSuccess;
  if (!is_launchable(size)) return cudaErrorInvalidValue;
  if constexpr (sizeof(T) == 4)
    if (!size.tf32) return launch_width<Kernel, T, 3>(size, stream, arguments...);
  return launch_width<Kernel, T, 1>(size, stream, arguments...);
}

}  // namespace trainx::kernels
