#include "kernels/activation/clamped_gated.hpp"
#include "kernels/eight.cuh"
#include "kernels/launch.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, blocks_per_multiprocessor = 8;

/// Of a pair in fp32. NaN stays NaN: no fminf, which drops it.
struct Gate {
  float gate, up, sigmoid;
  bool gate_passes, up_passes;
};
__device__ __forceinline__ Gate gate_of(const GateLimits& l, float gate, float up) {
  Gate g;
  g.gate = gate > l.limit ? l.limit : gate;
  g.up = up > l.limit ? l.limit : up < -l.limit ? -l.limit : up;
  g.sigmoid = 1 / (1 + expf(-l.alpha * g.gate));
  g.gate_passes = gate <= l.limit;
  g.up_passes = up >= -l.limit && up <= l.limit;
  return g;
}

/// Calls f(first element of out, how many of the next eight there are).
template <class F>
__device__ __forceinline__ void for_pieces(std::int64_t n, F f) {
  const std::int64_t step = 8 * static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = 8 * (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x); i < n;
       i += step)
    f(i, static_cast<int>(n - i < 8 ? n - i : 8));
}

/// The sixteen elements of a piece's pairs.
template <bool aligned, class T>
__device__ __forceinline__ void load_pairs(const T* x, int count, float (&pairs)[2][8]) {
  widen8(load8<aligned>(x, 2 * count), pairs[0]);
  widen8(load8<aligned>(x + 8, 2 * count - 8), pairs[1]);
}

template <class T, bool aligned>
__global__ void __launch_bounds__(threads) clamped_gated_kernel(ClampedGated<T> op) {
  for_pieces(op.n, [&](std::int64_t i, int count) {
    float pairs[2][8], out[8];
    load_pairs<aligned>(op.x + 2 * i, count, pairs);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float* const pair = &pairs[j / 4][2 * (j % 4)];
      const Gate g = gate_of(op.limits, pair[0], pair[1]);
      out[j] = (g.up + 1) * g.gate * g.sigmoid;
    }
    Eight<T> to;
    narrow8(out, to);
    store8<aligned>(op.out + i, to, count);
  });
}

template <class T, bool aligned>
__global__ void __launch_bounds__(threads)
    clamped_gated_backward_kernel(ClampedGatedBackward<T> op) {
  for_pieces(op.n, [&](std::int64_t i, int count) {
    float pairs[2][8], d[8];
    load_pairs<aligned>(op.x + 2 * i, count, pairs);
    widen8(load8<aligned>(op.d_out + i, count), d);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      float* const pair = &pairs[j / 4][2 * (j % 4)];
      const Gate g = gate_of(op.limits, pair[0], pair[1]);
      const float slope = g.sigmoid * (1 + op.limits.alpha * g.gate * (1 - g.sigmoid));
      pair[0] = g.gate_passes ? d[j] * (g.up + 1) * slope : 0.0f;
      pair[1] = g.up_passes ? d[j] * g.gate * g.sigmoid : 0.0f;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Eight<T> to;
      narrow8(pairs[half], to);
      store8<aligned>(op.d_x + 2 * i + 8 * half, to, 2 * count - 8 * half);
    }
  });
}

cudaError_t grid_of(std::int64_t n, unsigned& blocks) {
  return blocks_for((n + 8 * threads - 1) / (8 * threads), blocks_per_multiprocessor, blocks);
}

}  // namespace

template <class T>
cudaError_t clamped_gated(const ClampedGated<T>& op, cudaStream_t stream) {
  if (op.n == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = grid_of(op.n, blocks); error != cudaSuccess) return error;
  if (op.n % 8 == 0 && aligned16(op.x) && aligned16(op.out))
    clamped_gated_kernel<T, true><<<blocks, threads, 0, stream>>>(op);
  else
    clamped_gated_kernel<T, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

template <class T>
cudaError_t clamped_gated_backward(const ClampedGatedBackward<T>& op, cudaStream_t stream) {
  if (op.n == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = grid_of(op.n, blocks); error != cudaSuccess) return error;
  if (op.n % 8 == 0 && aligned16(op.x) && aligned16(op.d_out) && aligned16(op.d_x))
    clamped_gated_backward_kernel<T, true><<<blocks, threads, 0, stream>>>(op);
  else
    clamped_gated_backward_kernel<T, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

#define TRAINX_CLAMPED_GATED(T)                                             \
  template cudaError_t clamped_gated(const ClampedGated<T>&, cudaStream_t); \
  template cudaError_t clamped_gated_backward(const ClampedGatedBackward<T>&, cudaStream_t);
TRAINX_CLAMPED_GATED(float)
TRAINX_CLAMPED_GATED(Bf16)
TRAINX_CLAMPED_GATED(Fp16)
#undef TRAINX_CLAMPED_GATED

}  // namespace trainx::kernels
