#include "kernels/eight.cuh"
#include "kernels/experts/combine_rows.hpp"
#include "kernels/launch.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, warps = threads / 32;

template <class T>
__device__ __forceinline__ float opened(const T* gate, std::int64_t n) {
  return gate ? 1 / (1 + expf(-widened(gate[n]))) : 1.0f;
}

__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

// A warp a token.
template <class T, bool aligned, bool sparse>
__global__ void __launch_bounds__(threads) combine_rows_kernel(CombineRows<T> op) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  const int columns = static_cast<int>(op.columns), per_token = static_cast<int>(op.per_token);
  for (std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
       n < op.tokens; n += step) {
    const float open = op.shared ? opened(op.gate, n) : 0.0f;
    for (int c = 8 * static_cast<int>(threadIdx.x % 32); c < columns; c += 8 * 32) {
      float sums[8] = {}, more[8];
#pragma unroll 4
      for (int j = 0; j < per_token; ++j) {
        const std::int64_t row = op.places[n * per_token + j];
        if (sparse && row < 0) continue;
        const float weight = !sparse || op.weights ? op.weights[n * per_token + j] : 1.0f;
        widen8(load8<aligned>(op.rows + row * columns + c, columns - c), more);
#pragma unroll
        for (int i = 0; i < 8; ++i) sums[i] += weight * more[i];
      }
      if (op.shared) {
        widen8(load8<aligned>(op.shared + n * columns + c, columns - c), more);
#pragma unroll
        for (int i = 0; i < 8; ++i) sums[i] += open * more[i];
      }
      Eight<T> rounded;
      narrow8(sums, rounded);
      store8<aligned>(op.y + n * columns + c, rounded, columns - c);
    }
  }
}

/// to = factor * d, where `to` is wanted; the sum of d * with, where that is given. Of a warp.
template <class T, bool aligned>
__device__ __forceinline__ float row_backward(const T* d, float factor, T* to, const T* with,
                                              int columns) {
  float sum = 0;
  for (int c = 8 * static_cast<int>(threadIdx.x % 32); c < columns; c += 8 * 32) {
    float x[8], y[8];
    widen8(load8<aligned>(d + c, columns - c), x);
    if (with) {
      widen8(load8<aligned>(with + c, columns - c), y);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += x[i] * y[i];
    }
    if (to) {
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] *= factor;
      Eight<T> rounded;
      narrow8(x, rounded);
      store8<aligned>(to + c, rounded, columns - c);
    }
  }
  return with ? sum_of_warp(sum) : 0.0f;
}

// A warp a row of an expert, or a token's row of the expert for all. Warps of a token are
// neighbours, and read the same row of dy.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads) combine_rows_backward_kernel(CombineRowsBackward<T> op) {
  const CombineRows<T>& of = op.of;
  const int columns = static_cast<int>(of.columns), k = static_cast<int>(of.per_token);
  const bool first = threadIdx.x % 32 == 0;
  const int each = k + (op.d_shared || op.d_gate ? 1 : 0);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps, all = of.tokens * each;
  for (std::int64_t w = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32; w < all;
       w += step) {
    const std::int64_t n = w / each;
    const int j = static_cast<int>(w % each);
    const T* const d = op.dy + n * columns;
    if (j < k) {
      const std::int64_t i = n * k + j, row = static_cast<std::int64_t>(of.places[i]) * columns;
      if (row < 0) {
        if (op.d_weights && first) op.d_weights[i] = 0;
        continue;
      }
      const float weight = !op.d_rows ? 0.0f : of.weights ? of.weights[i] : 1.0f;
      const float dot = row_backward<T, aligned>(d, weight, op.d_rows ? op.d_rows + row : nullptr,
                                                 op.d_weights ? of.rows + row : nullptr, columns);
      if (op.d_weights && first) op.d_weights[i] = dot;
    } else {
      const float open = opened(of.gate, n);
      const float dot =
          row_backward<T, aligned>(d, open, op.d_shared ? op.d_shared + n * columns : nullptr,
                                   op.d_gate ? of.shared + n * columns : nullptr, columns);
      if (op.d_gate && first) narrow(open * (1 - open) * dot, op.d_gate[n]);
    }
  }
}

constexpr std::int64_t most_columns = std::int64_t{1} << 30;

cudaError_t blocks_of(std::int64_t rows, unsigned& blocks) {
  return blocks_for((rows + warps - 1) / warps, 8, blocks);
}

}  // namespace

template <class T>
cudaError_t combine_rows(const CombineRows<T>& op, cudaStream_t stream) {
  if (op.tokens == 0 || op.columns == 0) return cudaSuccess;
  if (!op.weights && !op.sparse) return cudaErrorInvalidValue;
  if (op.columns > most_columns) return cudaErrorInvalidValue;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.tokens, blocks); error != cudaSuccess) return error;
  if (op.columns % 8 == 0 && aligned16(op.rows) && aligned16(op.shared) && aligned16(op.y))
    op.sparse ? combine_rows_kernel<T, true, true><<<blocks, threads, 0, stream>>>(op)
              : combine_rows_kernel<T, true, false><<<blocks, threads, 0, stream>>>(op);
  else
    op.sparse ? combine_rows_kernel<T, false, true><<<blocks, threads, 0, stream>>>(op)
              : combine_rows_kernel<T, false, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

template <class T>
cudaError_t combine_rows_backward(const CombineRowsBackward<T>& op, cudaStream_t stream) {
  const CombineRows<T>& of = op.of;
  if (of.tokens == 0) return cudaSuccess;
  if (of.columns > most_columns) return cudaErrorInvalidValue;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(of.tokens * (of.per_token + 1), blocks);
      error != cudaSuccess)
    return error;
  if (of.columns % 8 == 0 && aligned16(of.rows) && aligned16(of.shared) && aligned16(op.dy) &&
      aligned16(op.d_rows) && aligned16(op.d_shared))
    combine_rows_backward_kernel<T, true><<<blocks, threads, 0, stream>>>(op);
  else
    combine_rows_backward_kernel<T, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

#define TRAINX_COMBINE(T)                                                 \
  template cudaError_t combine_rows(const CombineRows<T>&, cudaStream_t); \
  template cudaError_t combine_rows_backward(const CombineRowsBackward<T>&, cudaStream_t);
TRAINX_COMBINE(float)
TRAINX_COMBINE(Bf16)
TRAINX_COMBINE(Fp16)
#undef TRAINX_COMBINE

}  // namespace trainx::kernels
