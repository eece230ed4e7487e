#include "kernels/launch.hpp"
#include "kernels/loss/changed_logit.cuh"
#include "kernels/loss/cross_entropy_rows.cuh"
#include "kernels/loss/logit_sums.hpp"
#include "kernels/loss/part_loss_row.hpp"

namespace trainx::kernels {
namespace {

using N = LogitNumber;
constexpr int threads = 512, blocks_per_multiprocessor = 4;

template <class T>
bool in_chunks(const LogitSums<T>& op) {
  return op.columns % chunk_elements_of<T> == 0 && aligned16(op.logits);
}

// A block takes one row after the other, each thread chunks of 16 bytes.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads) logit_sums_kernel(LogitSums<T> op, ChangeFactors by) {
  constexpr int n = chunk_elements_of<T>;
  __shared__ SoftmaxSum of_warps[2 * 32];
  __shared__ Argmax best_of_warps[2 * 32];
  __shared__ float totals_of_warps[2 * 32];
  const int classes = static_cast<int>(op.classes), columns = static_cast<int>(op.columns),
            chunks = (classes + n - 1) / n;
  int turn = 0;
  for (std::int64_t r = blockIdx.x; r < op.rows; r += gridDim.x) {
    const T* const row = op.logits + r * op.columns;
    SoftmaxSum sum;
    Argmax best;
    float total = 0;
    for (int chunk = static_cast<int>(threadIdx.x); chunk < chunks; chunk += threads) {
      float x[n];
      widen16(load_chunk<T, aligned>(row, chunk, columns), x, T{});
#pragma unroll
      for (int j = 0; j < n; ++j) {
        const bool is_class = chunk * n + j < classes;
        x[j] = is_class ? changed<T>(x[j], by).value : -INFINITY;
        if (!is_class) continue;
        total += x[j];
        best.add(x[j], chunk * n + j);
      }
      sum.add_logits(x);
    }
    sum = over_block<threads>(sum, of_warps, turn);
    best = over_block<threads>(best, best_of_warps, turn);
    total = over_block<threads>(total, totals_of_warps, turn);
    turn ^= 1;
    if (threadIdx.x != 0) continue;
    float* const to = op.numbers + r * N::count;
    const std::int64_t target = op.targets[r] - op.first;
    // a class that is not the largest of any is NaN: its sum says so
    const bool any = best.column < classes;
    const float largest = any ? best.value : -INFINITY;
    to[N::largest] = largest;
    to[N::exponentials] = classes == 0 ? 0
                                       : sum.sum * exp2_approximate(sum.largest - largest * log2_e);
    to[N::at_target] = target >= 0 && target < classes ? changed<T>(widened(row[target]), by).value
                                                       : 0;
    to[N::total] = total;
    to[N::best] = static_cast<float>(op.first + (any ? best.column : 0));
  }
}

template <class T, bool aligned>
__global__ void __launch_bounds__(threads)
    logit_sums_gradient_kernel(LogitSumsGradient<T> op, ChangeFactors by) {
  constexpr int n = chunk_elements_of<T>;
  const int classes = static_cast<int>(op.of.classes), columns = static_cast<int>(op.of.columns),
            chunks = (columns + n - 1) / n;
  for (std::int64_t r = blockIdx.x; r < op.of.rows; r += gridDim.x) {
    const T* const row = op.of.logits + r * op.of.columns;
    T* const to = op.gradient + r * op.of.columns;
    const float *const numbers = op.of.numbers + r * N::count, *const d = op.d_numbers +
                                                                          r * N::count;
    const bool has_target = op.of.targets[r] != no_target;
    const std::int64_t target = op.of.targets[r] - op.of.first;
    const float of_sum = d[N::exponentials], of_target = d[N::at_target], of_each = d[N::total],
                largest = numbers[N::largest] * log2_e;
    for (int chunk = static_cast<int>(threadIdx.x); chunk < chunks; chunk += threads) {
      float x[n] = {};
      if (has_target) {
        widen16(load_chunk<T, aligned>(row, chunk, columns), x, T{});
#pragma unroll
        for (int j = 0; j < n; ++j) {
          const int c = chunk * n + j;
          const ChangedLogit l = changed<T>(x[j], by);
          const float g = fmaf(of_sum, exp2_approximate(fmaf(l.value, log2_e, -largest)),
                               of_each + (c == target ? of_target : 0));
          x[j] = c < classes ? g * l.slope : 0;
        }
      }
      store_chunk<T, aligned>(to, chunk, columns, narrow16(x, T{}));
    }
  }
}

// One block: rows are few beside logits, and their sums have one order.
constexpr int loss_threads = 1024;

__global__ void __launch_bounds__(loss_threads) part_loss_kernel(PartLoss op, PartLossSums sums) {
  __shared__ double shared[32];
  double loss = 0, targets = 0, correct = 0;
  for (std::int64_t r = threadIdx.x; r < op.rows; r += loss_threads) {
    if (op.targets[r] == no_target) continue;
    const PartLossRow row = part_loss_row(op, r);
    loss += row.loss;
    targets += 1;
    correct += row.best == op.targets[r] ? 1 : 0;
  }
  loss = block_total<loss_threads>(loss, shared);
  targets = block_total<loss_threads>(targets, shared);
  correct = block_total<loss_threads>(correct, shared);
  if (threadIdx.x != 0) return;
  *sums.loss_sum = sums.accumulate ? *sums.loss_sum + loss : loss;
  *sums.target_count = sums.accumulate ? *sums.target_count + targets : targets;
  if (sums.correct) *sums.correct = sums.accumulate ? *sums.correct + correct : correct;
}

__global__ void part_loss_gradient_kernel(PartLossGradient op) {
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (r < op.of.rows)
    part_loss_gradient_row(op, r, op.loss_scale ? op.seed * *op.loss_scale : op.seed);
}

template <class Kernel, class Op>
cudaError_t launch_rows(Kernel kernel, const Op& op, std::int64_t rows, const LogitChange& change,
                        cudaStream_t stream) {
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(rows, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  kernel<<<blocks, threads, 0, stream>>>(op, factors_of(change));
  return cudaGetLastError();
}

}  // namespace

template <class T>
cudaError_t logit_sums(const LogitSums<T>& op, cudaStream_t stream) {
  if (op.rows == 0) return cudaSuccess;
  if (op.classes > op.columns || op.columns >= std::int64_t{1} << 30) return cudaErrorInvalidValue;
  return launch_rows(in_chunks(op) ? logit_sums_kernel<T, true> : logit_sums_kernel<T, false>, op,
                     op.rows, op.change, stream);
}

template <class T>
cudaError_t logit_sums_gradient(const LogitSumsGradient<T>& op, cudaStream_t stream) {
  if (op.of.rows == 0 || op.of.columns == 0) return cudaSuccess;
  if (op.of.classes > op.of.columns || op.of.columns >= std::int64_t{1} << 30)
    return cudaErrorInvalidValue;
  const bool aligned = in_chunks(op.of) && aligned16(op.gradient);
  return launch_rows(
      aligned ? logit_sums_gradient_kernel<T, true> : logit_sums_gradient_kernel<T, false>, op,
      op.of.rows, op.of.change, stream);
}

cudaError_t part_loss(const PartLoss& op, const PartLossSums& sums, cudaStream_t stream) {
  part_loss_kernel<<<1, loss_threads, 0, stream>>>(op, sums);
  return cudaGetLastError();
}

cudaError_t part_loss_gradient(const PartLossGradient& op, cudaStream_t stream) {
  if (op.of.rows == 0) return cudaSuccess;
  constexpr int in_block = 128;
  const auto blocks = static_cast<unsigned>((op.of.rows + in_block - 1) / in_block);
  part_loss_gradient_kernel<<<blocks, in_block, 0, stream>>>(op);
  return cudaGetLastError();
}

template cudaError_t logit_sums(const LogitSums<float>&, cudaStream_t);
template cudaError_t logit_sums(const LogitSums<Bf16>&, cudaStream_t);
template cudaError_t logit_sums(const LogitSums<Fp16>&, cudaStream_t);
template cudaError_t logit_sums_gradient(const LogitSumsGradient<float>&, cudaStream_t);
template cudaError_t logit_sums_gradient(const LogitSumsGradient<Bf16>&, cudaStream_t);
template cudaError_t logit_sums_gradient(const LogitSumsGradient<Fp16>&, cudaStream_t);

}  // namespace trainx::kernels
