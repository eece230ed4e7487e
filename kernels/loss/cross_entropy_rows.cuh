// Rows of logits as blocks read them: in chunks of 16 bytes, and what all threads of a block learn
// together.
#pragma once
#include "kernels/loss/changed_logit.cuh"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/softmax_row.cuh"
#include <algorithm>
#include <cstdint>

namespace trainx::kernels {

// A block works on one row after the other. Thread t has the row's chunks of 16 bytes t, t +
// threads, ... With gradient the first `held` of them lie in shared memory, in slots that only this
// thread touches: as soon as it has written a chunk's gradient it begins the copy of the next row's
// chunk into the slot, so loading goes on while the block computes and stores. Chunks beyond, and
// all chunks without gradient, come straight from memory.
struct LogitRow {
  int columns, vocab_size, chunks, chunks_read;  // chunks up to Vp, and up to the last class
  int per_thread, held;
};

template <class T>
constexpr int chunk_elements_of = static_cast<int>(16 / sizeof(T));

template <class T, bool aligned>
__device__ __forceinline__ uint4 load_chunk(const T* row, int chunk, int columns) {
  constexpr int n = chunk_elements_of<T>;
  if constexpr (aligned) {
    return reinterpret_cast<const uint4*>(row)[chunk];
  } else {
    std::uint32_t words[4] = {};
#pragma unroll
    for (int j = 0; j < n; ++j)
      if (chunk * n + j < columns) {
        if constexpr (sizeof(T) == 2)
          words[j / 2] |= static_cast<std::uint32_t>(row[chunk * n + j].bits) << 16 * (j % 2);
        else
          words[j] = __float_as_uint(row[chunk * n + j]);
      }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
}
template <class T, bool aligned>
__device__ __forceinline__ void store_chunk(T* row, int chunk, int columns, const uint4& x) {
  constexpr int n = chunk_elements_of<T>;
  if constexpr (aligned) {
    reinterpret_cast<uint4*>(row)[chunk] = x;
  } else {
    const std::uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int j = 0; j < n; ++j)
      if (chunk * n + j < columns) {
        if constexpr (sizeof(T) == 2)
          row[chunk * n + j].bits = static_cast<std::uint16_t>(words[j / 2] >> 16 * (j % 2));
        else
          row[chunk * n + j] = __uint_as_float(words[j]);
      }
  }
}

// Logits of a chunk, with minus infinity beyond the classes.
template <class T>
__device__ __forceinline__ void classes_of(const uint4& x, int chunk, int vocab_size,
                                           float (&to)[chunk_elements_of<T>]) {
  constexpr int n = chunk_elements_of<T>;
  widen16(x, to, T{});
  if (chunk * n + n > vocab_size) {
#pragma unroll
    for (int j = 0; j < n; ++j)
      if (chunk * n + j >= vocab_size) to[j] = -INFINITY;
  }
}

// Over all threads of the block, the same in each. `turn` alternates between two halves of `shared`
// [2 * 32], so that one barrier is enough.
template <int threads>
__device__ __forceinline__ SoftmaxSum over_block(SoftmaxSum x, SoftmaxSum* shared, int turn) {
  constexpr int warps = threads / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    x.add(SoftmaxSum{__shfl_xor_sync(0xffffffffu, x.largest, offset),
                     __shfl_xor_sync(0xffffffffu, x.sum, offset)});
  if (threadIdx.x % 32 == 0) shared[32 * turn + threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x % 32 < warps ? shared[32 * turn + threadIdx.x % 32] : SoftmaxSum{};
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    x.add(SoftmaxSum{__shfl_xor_sync(0xffffffffu, x.largest, offset),
                     __shfl_xor_sync(0xffffffffu, x.sum, offset)});
  return x;
}
template <int threads>
__device__ __forceinline__ Argmax over_block(Argmax x, Argmax* shared, int turn) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    x.add(__shfl_xor_sync(0xffffffffu, x.value, offset),
          __shfl_xor_sync(0xffffffffu, x.column, offset));
  if (threadIdx.x % 32 == 0) shared[32 * turn + threadIdx.x / 32] = x;
  __syncthreads();
  for (int w = 0; w < threads / 32; ++w)
    x.add(shared[32 * turn + w].value, shared[32 * turn + w].column);
  return x;
}

template <int threads>
__device__ __forceinline__ float over_block(float x, float* shared, int turn) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
  if (threadIdx.x % 32 == 0) shared[32 * turn + threadIdx.x / 32] = x;
  __syncthreads();
  x = 0;
  for (int w = 0; w < threads / 32; ++w) x += shared[32 * turn + w];
  return x;
}

// Of doubles, in a fixed tree; valid in thread 0.
template <int threads>
__device__ double block_total(double x, double* shared) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffffu, x, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  double total = 0;
  if (threadIdx.x == 0)
    for (int w = 0; w < threads / 32; ++w) total += shared[w];
  return total;
}

// The sums over all rows, by the block that comes last.
template <class T, int threads>
__device__ void add_up(const CrossEntropy<T>& op, const LossSums& sums,
                       const PredictionCounts& counts) {
  __shared__ double shared[32];
  double loss = 0, targets = 0, correct = 0;
#pragma unroll 8
  for (std::int64_t r = threadIdx.x; r < op.rows; r += threads) {
    loss += static_cast<double>(__ldcg(op.row_loss + r));
    targets += op.targets[r] != no_target ? 1 : 0;
  }
  if (counts.correct)
    for (std::int64_t r = threadIdx.x; r < op.rows; r += threads)
      correct += op.targets[r] != no_target && __ldcg(counts.predictions + r) == op.targets[r] ? 1
                                                                                               : 0;
  loss = block_total<threads>(loss, shared);
  targets = block_total<threads>(targets, shared);
  correct = block_total<threads>(correct, shared);
  if (threadIdx.x == 0) {
    *sums.loss_sum = sums.accumulate ? *sums.loss_sum + loss : loss;
    *sums.target_count = sums.accumulate ? *sums.target_count + targets : targets;
    if (counts.correct) *counts.correct = sums.accumulate ? *counts.correct + correct : correct;
  }
  if (!counts.confusion) return;
  const std::int64_t classes = op.vocab_size;
  if (!sums.accumulate)
    for (std::int64_t i = threadIdx.x; i < classes * classes; i += threads) counts.confusion[i] = 0;
  __syncthreads();
  // Whole numbers: the order in which they are added does not show.
  for (std::int64_t r = threadIdx.x; r < op.rows; r += threads) {
    const std::int32_t target = op.targets[r];
    if (target >= 0 && target < classes)
      atomicAdd(counts.confusion + target * classes + __ldcg(counts.predictions + r), 1.0);
  }
}

template <class T>
LogitRow row_of(const CrossEntropy<T>& op, int threads) {
  constexpr int n = chunk_elements_of<T>;
  LogitRow width{};
  width.columns = static_cast<int>(op.columns);
  width.vocab_size = static_cast<int>(op.vocab_size);
  width.chunks = (width.columns + n - 1) / n;
  width.chunks_read = (width.vocab_size + n - 1) / n;
  width.per_thread = (width.chunks_read + threads - 1) / threads;
  return width;
}

template <class Kernel>
cudaError_t resident_blocks(Kernel kernel, int threads, int bytes, std::int64_t rows,
                            unsigned& blocks) {
  int device = 0, multiprocessors = 0, each = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
      error != cudaSuccess)
    return error;
  if (const cudaError_t error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      error != cudaSuccess)
    return error;
  if (const cudaError_t error =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, bytes);
      error != cudaSuccess)
    return error;
  blocks = static_cast<unsigned>(std::clamp<std::int64_t>(
      rows, 1, static_cast<std::int64_t>(multiprocessors) * std::max(1, each)));
  return cudaSuccess;
}

template <class T>
bool sound(const CrossEntropy<T>& op) {
  return op.vocab_size >= 1 && op.vocab_size <= op.columns && op.columns < (std::int64_t{1} << 30);
}

template <class T>
bool in_chunks(const CrossEntropy<T>& op) {
  return op.columns % chunk_elements_of<T> == 0 && aligned16(op.logits);
}

}  // namespace trainx::kernels
