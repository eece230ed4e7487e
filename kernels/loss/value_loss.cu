#include "kernels/loss/value_loss.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

/// The sum over the block's threads, in one order, for thread 0.
__device__ double sum_of_block(double x, double* shared) {
  shared[threadIdx.x] = x;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  const double all = shared[0];
  __syncthreads();
  return all;
}

// Each thread takes every 256th row.
template <class T>
__global__ void __launch_bounds__(threads) value_loss_kernel(ValueLoss<T> op, LossSums sums) {
  __shared__ double shared[threads];
  const double factor = op.loss_scale ? op.factor * *op.loss_scale : op.factor,
               columns = static_cast<double>(op.columns);
  double sum = 0, count = 0;
  for (std::int64_t r = threadIdx.x; r < op.rows; r += threads) {
    T* const x = op.logits + r * op.columns;
    const float* const target = op.targets + r * op.columns;
    const bool has_target = !isnan(target[0]);
    double loss = 0;
    for (std::int64_t k = 0; k < op.columns; ++k) {
      const ValueLossAt at = has_target ? value_loss_at(op.binary, widened(x[k]), target[k])
                                        : ValueLossAt{0, 0};
      loss += at.loss;
      if (op.with_gradient) narrow(static_cast<float>(at.slope / columns * factor), x[k]);
    }
    sum += loss / columns;
    count += has_target;
  }
  sum = sum_of_block(sum, shared);
  count = sum_of_block(count, shared);
  if (threadIdx.x > 0) return;
  *sums.loss_sum = (sums.accumulate ? *sums.loss_sum : 0.0) + sum;
  *sums.target_count = (sums.accumulate ? *sums.target_count : 0.0) + count;
}

}  // namespace

template <class T>
cudaError_t value_loss(const ValueLoss<T>& op, const LossSums& sums, cudaStream_t stream) {
  value_loss_kernel<<<1, threads, 0, stream>>>(op, sums);
  return cudaGetLastError();
}
template cudaError_t value_loss(const ValueLoss<float>&, const LossSums&, cudaStream_t);
template cudaError_t value_loss(const ValueLoss<Bf16>&, const LossSums&, cudaStream_t);
template cudaError_t value_loss(const ValueLoss<Fp16>&, const LossSums&, cudaStream_t);

}  // namespace trainx::kernels
