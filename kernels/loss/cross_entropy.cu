#include "kernels/fold.cuh"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/cross_entropy_rows.cuh"

namespace trainx::kernels {
namespace {

template <class T, int threads, bool aligned, bool predicts>
__global__ void __launch_bounds__(threads)
    loss_kernel(CrossEntropy<T> op, LogitRow width, LossSums sums, PredictionCounts counts,
                std::uint32_t* counters) {
  constexpr int n = chunk_elements_of<T>, ahead = 4;
  __shared__ SoftmaxSum of_warps[2 * 32];
  __shared__ Argmax best_of_warps[2 * 32];
  const int thread = static_cast<int>(threadIdx.x);
  int turn = 0;
  for (std::int64_t r = blockIdx.x; r < op.rows; r += gridDim.x) {
    const T* const row = op.logits + r * width.columns;
    const std::int32_t target = op.targets[r];
    if (target == no_target) {
      if (thread == 0) {
        op.row_loss[r] = 0;
        if (predicts) counts.predictions[r] = 0;
      }
      continue;
    }
    const bool valid = target >= 0 && target < width.vocab_size;
    const float at_target = valid && thread == 0 ? widened(row[target]) : 0;
    SoftmaxSum sum;
    Argmax best;
    for (int first = thread; first < width.chunks_read; first += ahead * threads) {
      uint4 chunks[ahead];
#pragma unroll
      for (int a = 0; a < ahead; ++a)
        if (first + a * threads < width.chunks_read)
          chunks[a] = load_chunk<T, aligned>(row, first + a * threads, width.columns);
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        const int chunk = first + a * threads;
        if (chunk >= width.chunks_read) break;
        float x[n];
        classes_of<T>(chunks[a], chunk, width.vocab_size, x);
        sum.add_logits(x);
        if constexpr (predicts) {
#pragma unroll
          for (int j = 0; j < n; ++j)
            if (chunk * n + j < width.vocab_size) best.add(x[j], chunk * n + j);
        }
      }
    }
    sum = over_block<threads>(sum, of_warps, turn);
    if constexpr (predicts) best = over_block<threads>(best, best_of_warps, turn);
    turn ^= 1;
    if (thread == 0) {
      op.row_loss[r] = valid ? (log2f(sum.sum) - fmaf(at_target, log2_e, -sum.largest)) * ln_2
                             : NAN;
      if (predicts) counts.predictions[r] = best.column < width.vocab_size ? best.column : 0;
    }
  }
  if (last_to_arrive(counters, gridDim.x)) add_up<T, threads>(op, sums, counts);
}

template <class T, int threads, bool aligned>
cudaError_t launch_loss(const CrossEntropy<T>& op, const LossSums& sums,
                        const PredictionCounts& counts, std::uint32_t* counters,
                        cudaStream_t stream) {
  const LogitRow width = row_of(op, threads);
  const bool predicts = counts.predictions != nullptr;
  unsigned blocks = 0;
  const auto kernel = predicts ? loss_kernel<T, threads, aligned, true>
                               : loss_kernel<T, threads, aligned, false>;
  if (const cudaError_t error = resident_blocks(kernel, threads, 0, op.rows, blocks);
      error != cudaSuccess)
    return error;
  kernel<<<blocks, threads, 0, stream>>>(op, width, sums, counts, counters);
  return cudaGetLastError();
}

template <class T>
cudaError_t without_gradient(const CrossEntropy<T>& op, const LossSums& sums,
                             const PredictionCounts& counts, std::uint32_t* counters,
                             cudaStream_t stream) {
  if (!sound(op) || ((counts.correct || counts.confusion) && !counts.predictions))
    return cudaErrorInvalidValue;
  if (!in_chunks(op)) return launch_loss<T, 512, false>(op, sums, counts, counters, stream);
  if (op.vocab_size * static_cast<std::int64_t>(sizeof(T)) <= 8192)
    return launch_loss<T, 128, true>(op, sums, counts, counters, stream);
  return launch_loss<T, 512, true>(op, sums, counts, counters, stream);
}

}  // namespace

cudaError_t cross_entropy(const CrossEntropy<float>& op, const LossSums& sums,
                          const PredictionCounts& counts, std::uint32_t* counters,
                          cudaStream_t stream) {
  return without_gradient(op, sums, counts, counters, stream);
}
cudaError_t cross_entropy(const CrossEntropy<Bf16>& op, const LossSums& sums,
                          const PredictionCounts& counts, std::uint32_t* counters,
                          cudaStream_t stream) {
  return without_gradient(op, sums, counts, counters, stream);
}
cudaError_t cross_entropy(const CrossEntropy<Fp16>& op, const LossSums& sums,
                          const PredictionCounts& counts, std::uint32_t* counters,
                          cudaStream_t stream) {
  return without_gradient(op, sums, counts, counters, stream);
}

}  // namespace trainx::kernels
