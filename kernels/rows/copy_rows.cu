#include "kernels/eight.cuh"
#include "kernels/launch.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/rows/copy_rows.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int blocks_per_multiprocessor = 8;

// A warp a row.
template <class T, bool aligned, bool gather>
__global__ void __launch_bounds__(threads) copy_rows_kernel(CopyRows<T> op) {
  const int columns = static_cast<int>(op.columns);
  for (std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
       r < op.count; r += static_cast<std::int64_t>(gridDim.x) * warps) {
    const std::int64_t named = op.rows[r];
    if (!gather && named < 0) continue;
    const T* const from = op.from + (gather ? named : r) * columns;
    T* const to = op.to + (gather ? r : named) * columns;
#pragma unroll 4
    for (int c = 8 * (threadIdx.x % 32); c < columns; c += 8 * 32)
      store8<aligned>(to + c, load8<aligned>(from + c, named < 0 ? 0 : columns - c), columns - c);
  }
}

template <bool gather, class T>
cudaError_t launch(const CopyRows<T>& op, cudaStream_t stream) {
  if (op.count == 0 || op.columns == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error =
          blocks_for((op.count + warps - 1) / warps, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (op.columns % 8 == 0 && aligned16(op.from) && aligned16(op.to))
    copy_rows_kernel<T, true, gather><<<blocks, threads, 0, stream>>>(op);
  else
    copy_rows_kernel<T, false, gather><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

// One block; each thread takes neighbouring targets, counts those it has, and writes them from
// where the threads before it end.
constexpr int select_threads = 1024;

__global__ void __launch_bounds__(select_threads) select_targets_kernel(SelectTargets op) {
  __shared__ std::int64_t ends[select_threads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const std::int64_t each = (op.count + select_threads - 1) / select_threads, first = thread * each,
                     last = first + each < op.count ? first + each : op.count;
  std::int64_t mine = 0;
#pragma unroll 8
  for (std::int64_t i = first; i < last; ++i) mine += op.targets[i] != no_target;
  std::int64_t end = mine;  // of this thread's targets in the list
  for (int offset = 1; offset < 32; offset *= 2) {
    const std::int64_t before = __shfl_up_sync(0xffffffffu, end, offset);
    if (lane >= offset) end += before;
  }
  if (lane == 31) ends[thread / 32] = end;
  __syncthreads();
  std::int64_t found = 0;
  for (int w = 0; w < select_threads / 32; ++w) {
    if (w < thread / 32) end += ends[w];
    found += ends[w];
  }
  std::int64_t at = end - mine;
  for (std::int64_t i = first; i < last; ++i)
    if (op.targets[i] != no_target) {
      if (at < op.capacity) {
        op.rows[at] = i;
        op.row_targets[at] = op.targets[i];
      }
      ++at;
    }
  for (std::int64_t i = found + thread; i < op.capacity; i += select_threads) {
    op.rows[i] = -1;
    op.row_targets[i] = no_target;
  }
  if (thread == 0 && op.found) *op.found = found;
}

__global__ void __launch_bounds__(threads)
    first_rows_kernel(std::int64_t* rows, std::int64_t samples, std::int64_t length) {
  const std::int64_t b = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (b < samples) rows[b] = b * length;
}

}  // namespace

cudaError_t gather_rows(const CopyRows<float>& op, cudaStream_t stream) {
  return launch<true>(op, stream);
}
cudaError_t gather_rows(const CopyRows<Bf16>& op, cudaStream_t stream) {
  return launch<true>(op, stream);
}
cudaError_t gather_rows(const CopyRows<Fp16>& op, cudaStream_t stream) {
  return launch<true>(op, stream);
}
cudaError_t scatter_rows(const CopyRows<float>& op, cudaStream_t stream) {
  return launch<false>(op, stream);
}
cudaError_t scatter_rows(const CopyRows<Bf16>& op, cudaStream_t stream) {
  return launch<false>(op, stream);
}
cudaError_t scatter_rows(const CopyRows<Fp16>& op, cudaStream_t stream) {
  return launch<false>(op, stream);
}
cudaError_t select_targets(const SelectTargets& op, cudaStream_t stream) {
  select_targets_kernel<<<1, select_threads, 0, stream>>>(op);
  return cudaGetLastError();
}
cudaError_t first_rows(std::int64_t* rows, std::int64_t samples, std::int64_t length,
                       cudaStream_t stream) {
  if (samples == 0) return cudaSuccess;
  first_rows_kernel<<<static_cast<unsigned>((samples + threads - 1) / threads), threads, 0,
                      stream>>>(rows, samples, length);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
