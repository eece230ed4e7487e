#include "kernels/launch.hpp"
#include "kernels/rows/mean_pool.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 128, turns = 8;

// Each warp-wide column of a block is summed by `turns` threads, each every so many rows.
template <class T>
__global__ void __launch_bounds__(threads) pool(MeanPool<T> op) {
  constexpr int columns = threads / turns;
  __shared__ float sums[turns][columns];
  const int column = threadIdx.x % columns, turn = threadIdx.x / columns;
  const std::int64_t b = blockIdx.y, c = static_cast<std::int64_t>(blockIdx.x) * columns + column;
  const int length = op.lengths[b];
  float sum = 0;
  if (c < op.columns)
    for (int t = turn; t < length; t += turns)
      sum += widened(op.rows[(b * op.length + t) * op.columns + c]);
  sums[turn][column] = sum;
  __syncthreads();
  if (turn > 0 || c >= op.columns) return;
  for (int k = 1; k < turns; ++k) sum += sums[k][column];
  narrow(length > 0 ? sum / static_cast<float>(length) : 0.0f, op.pooled[b * op.columns + c]);
}

template <class T>
__global__ void __launch_bounds__(threads) spread(MeanPool<T> op) {
  const std::int64_t all = op.samples * op.length * op.columns,
                     step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < all;
       i += step) {
    const std::int64_t c = i % op.columns, row = i / op.columns, b = row / op.length;
    const int length = op.lengths[b];
    const float d = row % op.length < length
                        ? widened(op.pooled[b * op.columns + c]) / static_cast<float>(length)
                        : 0.0f;
    narrow(d, op.rows[i]);
  }
}

template <class T>
bool is_nothing(const MeanPool<T>& op) {
  return op.samples == 0 || op.columns == 0;
}

}  // namespace

template <class T>
cudaError_t mean_pool(const MeanPool<T>& op, cudaStream_t stream) {
  if (is_nothing(op)) return cudaSuccess;
  if (op.samples > 65535) return cudaErrorInvalidValue;
  constexpr int columns = threads / turns;
  const dim3 grid(static_cast<unsigned>((op.columns + columns - 1) / columns),
                  static_cast<unsigned>(op.samples));
  pool<<<grid, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

template <class T>
cudaError_t mean_pool_backward(const MeanPool<T>& op, cudaStream_t stream) {
  if (is_nothing(op) || op.length == 0) return cudaSuccess;
  unsigned blocks = 0;
  const std::int64_t all = op.samples * op.length * op.columns;
  if (const cudaError_t error = blocks_for((all + threads - 1) / threads, 16, blocks);
      error != cudaSuccess)
    return error;
  spread<<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

#define TRAINX_MEAN_POOL(T)                                         \
  template cudaError_t mean_pool(const MeanPool<T>&, cudaStream_t); \
  template cudaError_t mean_pool_backward(const MeanPool<T>&, cudaStream_t);
TRAINX_MEAN_POOL(float)
TRAINX_MEAN_POOL(Bf16)
TRAINX_MEAN_POOL(Fp16)
#undef TRAINX_MEAN_POOL

}  // namespace trainx::kernels
