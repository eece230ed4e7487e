#include "kernels/experts/router_loss.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 512;

/// The sum over the block's threads, in one order, for all of them.
__device__ double sum_of_block(double x) {
  __shared__ double shared[threads];
  shared[threadIdx.x] = x;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  const double all = shared[0];
  __syncthreads();
  return all;
}

__device__ double targets_in(const std::int32_t* targets, std::int64_t rows) {
  std::int64_t count = 0;
#pragma unroll 8
  for (std::int64_t r = threadIdx.x; r < rows; r += threads) count += targets[r] >= 0;
  return sum_of_block(static_cast<double>(count));
}

__global__ void __launch_bounds__(threads) router_loss_kernel(RouterLoss op, double* loss_sum) {
  const double targets = targets_in(op.targets, op.rows);
  double sum = 0;
  for (int e = static_cast<int>(threadIdx.x); e < op.experts; e += threads)
    sum += op.of_all(e) * op.of_all(op.experts + e);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *loss_sum += targets * op.factor * sum;
}

__global__ void __launch_bounds__(threads)
    router_loss_backward_kernel(RouterLoss op, float* d_balance, double seed, const double* scale) {
  const double all = targets_in(op.targets, op.rows) * seed * (scale ? *scale : 1.0) * op.factor;
  for (int e = static_cast<int>(threadIdx.x); e < op.experts; e += threads) {
    d_balance[e] = 0;
    d_balance[op.experts + e] = static_cast<float>(all * op.of_all(e));
  }
}

__global__ void __launch_bounds__(threads) router_z_loss_kernel(RouterZLoss op, double* loss_sum) {
  const double targets = targets_in(op.targets, op.rows);
  if (threadIdx.x == 0) *loss_sum += targets * op.factor * op.of_all();
}

__global__ void __launch_bounds__(threads)
    router_z_loss_backward_kernel(RouterZLoss op, float* d_z, double seed, const double* scale) {
  const double targets = targets_in(op.targets, op.rows);
  if (threadIdx.x == 0)
    *d_z = static_cast<float>(targets * seed * (scale ? *scale : 1.0) * op.factor);
}

}  // namespace

cudaError_t router_loss(const RouterLoss& op, double* loss_sum, cudaStream_t stream) {
  router_loss_kernel<<<1, threads, 0, stream>>>(op, loss_sum);
  return cudaGetLastError();
}

cudaError_t router_loss_backward(const RouterLoss& op, float* d_balance, double seed,
                                 const double* scale, cudaStream_t stream) {
  router_loss_backward_kernel<<<1, threads, 0, stream>>>(op, d_balance, seed, scale);
  return cudaGetLastError();
}

cudaError_t router_z_loss(const RouterZLoss& op, double* loss_sum, cudaStream_t stream) {
  router_z_loss_kernel<<<1, threads, 0, stream>>>(op, loss_sum);
  return cudaGetLastError();
}

cudaError_t router_z_loss_backward(const RouterZLoss& op, float* d_z, double seed,
                                   const double* scale, cudaStream_t stream) {
  router_z_loss_backward_kernel<<<1, threads, 0, stream>>>(op, d_z, seed, scale);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
