#include "kernels/copy_async.cuh"
#include "kernels/fold.cuh"
#include "kernels/loss/changed_logit.cuh"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/softmax_row.cuh"
#include <algorithm>

namespace trainx::kernels {
namespace {

// A block works on one row after the other. Thread t has the row's chunks of 16 bytes t, t +
// threads, ... With gradient the first `held` of them lie in shared memory, in slots that only this
// thread touches: as soon as it has written a chunk's gradient it begins the copy of the next row's
// chunk into the slot, so loading goes on while the block computes and stores. Chunks beyond, and
// all chunks without gradient, come straight from memory.
struct Row {
  int columns, vocab_size, chunks, chunks_read;  // chunks up to Vp, and up to the last class
  int per_thread, held;
};

constexpr int parts = 4;  // in which the slots are waited for

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

// The same of logits that change before the loss.
template <bool changes, class T>
__device__ __forceinline__ void classes_of(const uint4& x, int chunk, int vocab_size,
                                           const ChangeFactors& change,
                                           float (&to)[chunk_elements_of<T>]) {
  if constexpr (!changes) {
    classes_of<T>(x, chunk, vocab_size, to);
  } else {
    constexpr int n = chunk_elements_of<T>;
    widen16(x, to, T{});
#pragma unroll
    for (int j = 0; j < n; ++j)
      to[j] = chunk * n + j < vocab_size ? changed<T>(to[j], change).value : -INFINITY;
  }
}

template <class T, int threads, bool aligned, bool changes>
__global__ void __launch_bounds__(threads, threads == 512 ? 2 : 1)
    gradient_kernel(CrossEntropy<T> op, Row width, float seed, LossSums sums,
                    std::uint32_t* counters, ChangeFactors change) {
  if (op.loss_scale) seed *= static_cast<float>(*op.loss_scale);
  constexpr int n = chunk_elements_of<T>;
  extern __shared__ uint4 slots[];  // [held][threads]
  __shared__ SoftmaxSum of_warps[2 * 32];
  const int thread = static_cast<int>(threadIdx.x), part_size = (width.held + parts - 1) / parts;
  const auto begin_part = [&](const T* row, int part) {
    for (int k = part * part_size; k < min(width.held, (part + 1) * part_size); ++k)
      if (k * threads + thread < width.chunks_read)
        copy16_async(slots + k * threads + thread,
                     reinterpret_cast<const uint4*>(row) + k * threads + thread);
  };
  if (static_cast<std::int64_t>(blockIdx.x) < op.rows) {
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      if (aligned && op.targets[blockIdx.x] != no_target)
        begin_part(op.logits + static_cast<std::int64_t>(blockIdx.x) * width.columns, part);
      commit_copies();
    }
  }
  int turn = 0;
  for (std::int64_t r = blockIdx.x; r < op.rows; r += gridDim.x) {
    T* const row = op.logits + r * width.columns;
    const std::int64_t next = r + gridDim.x;
    const T* const next_row = op.logits + next * width.columns;
    const std::int32_t target = op.targets[r];
    const bool next_wanted = next < op.rows && op.targets[next] != no_target;
    float scale = 0, largest = 0;
    if (target != no_target) {
      const bool valid = target >= 0 && target < width.vocab_size;
      float at_target = valid && thread == 0 ? widened(row[target]) : 0;
      if constexpr (changes) at_target = changed<T>(at_target, change).value;
      SoftmaxSum sum;
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        if (part == 0) wait_for_copies<3>();
        if (part == 1) wait_for_copies<2>();
        if (part == 2) wait_for_copies<1>();
        if (part == 3) wait_for_copies<0>();
#pragma unroll 4
        for (int k = part * part_size; k < min(width.held, (part + 1) * part_size); ++k) {
          const int chunk = k * threads + thread;
          if (chunk >= width.chunks_read) break;
          float x[n];
          classes_of<changes, T>(slots[chunk], chunk, width.vocab_size, change, x);
          sum.add_logits(x);
        }
      }
#pragma unroll 4
      for (int k = width.held; k < width.per_thread; ++k) {
        const int chunk = k * threads + thread;
        if (chunk >= width.chunks_read) break;
        float x[n];
        classes_of<changes, T>(load_chunk<T, aligned>(row, chunk, width.columns), chunk,
                               width.vocab_size, change, x);
        sum.add_logits(x);
      }
      sum = over_block<threads>(sum, of_warps, turn);
      turn ^= 1;
      largest = sum.largest;
      scale = valid ? seed / sum.sum : NAN;
      if (thread == 0)
        op.row_loss[r] = valid ? (log2f(sum.sum) - fmaf(at_target, log2_e, -largest)) * ln_2 : NAN;
    } else {
      wait_for_copies<0>();
      if (thread == 0) op.row_loss[r] = 0;
    }
    const int target_chunk = target >= 0 && target < width.vocab_size ? target / n : -1;
    const auto gradient = [&](const uint4& logits, int chunk) {
      float x[n];
      if constexpr (changes) {
        widen16(logits, x, T{});
#pragma unroll
        for (int j = 0; j < n; ++j) {
          const ChangedLogit c = changed<T>(x[j], change);
          x[j] = exp2_approximate(fmaf(c.value, log2_e, -largest)) * scale * c.slope;
        }
      } else {
        classes_of<T>(logits, chunk, width.vocab_size, x);
#pragma unroll
        for (int j = 0; j < n; ++j) x[j] = exp2_approximate(fmaf(x[j], log2_e, -largest)) * scale;
      }
      if (chunk * n + n > width.vocab_size) {
#pragma unroll
        for (int j = 0; j < n; ++j)
          if (chunk * n + j >= width.vocab_size) x[j] = 0;
      }
      // The target's is written over the others': an index into x that is not a constant would put
      // it into slow local memory.
      float at_own_target = 0;
      if (chunk == target_chunk) {
        ChangedLogit own{widened(row[target]), 1};
        if constexpr (changes) own = changed<T>(own.value, change);
        at_own_target = exp2_approximate(fmaf(own.value, log2_e, -largest)) * scale - seed;
        if constexpr (changes) at_own_target *= own.slope;
      }
      store_chunk<T, aligned>(row, chunk, width.columns, narrow16(x, T{}));
      if (chunk == target_chunk) narrow(at_own_target, row[target]);
    };
#pragma unroll
    for (int part = 0; part < parts; ++part) {
#pragma unroll 2
      for (int k = part * part_size; k < min(width.held, (part + 1) * part_size); ++k) {
        const int chunk = k * threads + thread;
        if (chunk >= width.chunks_read) break;
        if (target != no_target)
          gradient(slots[chunk], chunk);
        else
          store_chunk<T, aligned>(row, chunk, width.columns, make_uint4(0, 0, 0, 0));
        if (next_wanted)
          copy16_async(slots + chunk, reinterpret_cast<const uint4*>(next_row) + chunk);
      }
      commit_copies();
    }
#pragma unroll 2
    for (int k = width.held; k < width.per_thread; ++k) {
      const int chunk = k * threads + thread;
      if (chunk >= width.chunks_read) break;
      if (target != no_target)
        gradient(load_chunk<T, aligned>(row, chunk, width.columns), chunk);
      else
        store_chunk<T, aligned>(row, chunk, width.columns, make_uint4(0, 0, 0, 0));
    }
    for (int chunk = width.chunks_read + thread; chunk < width.chunks; chunk += threads)
      store_chunk<T, aligned>(row, chunk, width.columns, make_uint4(0, 0, 0, 0));
  }
  if (last_to_arrive(counters, gridDim.x)) add_up<T, threads>(op, sums, {});
}

template <class T, int threads, bool aligned, bool predicts>
__global__ void __launch_bounds__(threads)
    loss_kernel(CrossEntropy<T> op, Row width, LossSums sums, PredictionCounts counts,
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

template <class T>
Row row_of(const CrossEntropy<T>& op, int threads) {
  constexpr int n = chunk_elements_of<T>;
  Row width{};
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

// of a block; of each of two on a multiprocessor
constexpr int most_shared_bytes = 224 * 1024, half_shared_bytes = 112 * 1024;

template <class T, int threads, bool aligned, bool changes>
cudaError_t launch_gradient(const CrossEntropy<T>& op, const LogitChange& change, double seed,
                            const LossSums& sums, std::uint32_t* counters, cudaStream_t stream) {
  Row width = row_of(op, threads);
  if (aligned) width.held = std::min(width.per_thread, most_shared_bytes / (threads * 16));
  const int bytes = width.held * threads * 16;
  const auto kernel = gradient_kernel<T, threads, aligned, changes>;
  unsigned blocks = 0;
  if (const cudaError_t error = resident_blocks(kernel, threads, bytes, op.rows, blocks);
      error != cudaSuccess)
    return error;
  kernel<<<blocks, threads, bytes, stream>>>(op, width, static_cast<float>(seed), sums, counters,
                                             factors_of(change));
  return cudaGetLastError();
}

template <class T, int threads, bool aligned>
cudaError_t launch_loss(const CrossEntropy<T>& op, const LossSums& sums,
                        const PredictionCounts& counts, std::uint32_t* counters,
                        cudaStream_t stream) {
  const Row width = row_of(op, threads);
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
bool sound(const CrossEntropy<T>& op) {
  return op.vocab_size >= 1 && op.vocab_size <= op.columns && op.columns < (std::int64_t{1} << 30);
}

template <class T>
bool in_chunks(const CrossEntropy<T>& op) {
  return op.columns % chunk_elements_of<T> == 0 && aligned16(op.logits);
}

template <bool changes, class T>
cudaError_t with_gradient(const CrossEntropy<T>& op, const LogitChange& change, double seed,
                          const LossSums& sums, std::uint32_t* counters, cudaStream_t stream) {
  if (!sound(op)) return cudaErrorInvalidValue;
  if (!in_chunks(op))
    return launch_gradient<T, 512, false, changes>(op, change, seed, sums, counters, stream);
  const std::int64_t bytes = op.vocab_size * static_cast<std::int64_t>(sizeof(T));
  if (bytes <= 8192)
    return launch_gradient<T, 128, true, changes>(op, change, seed, sums, counters, stream);
  if (row_of(op, 512).per_thread * 512 * 16 <= half_shared_bytes)
    return launch_gradient<T, 512, true, changes>(op, change, seed, sums, counters, stream);
  return launch_gradient<T, 1024, true, changes>(op, change, seed, sums, counters, stream);
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

cudaError_t cross_entropy_with_gradient(const CrossEntropy<float>& op, double seed,
                                        const LossSums& sums, std::uint32_t* counters,
                                        cudaStream_t stream) {
  return with_gradient<false>(op, {}, seed, sums, counters, stream);
}
cudaError_t cross_entropy_with_gradient(const CrossEntropy<Bf16>& op, double seed,
                                        const LossSums& sums, std::uint32_t* counters,
                                        cudaStream_t stream) {
  return with_gradient<false>(op, {}, seed, sums, counters, stream);
}
cudaError_t cross_entropy_with_gradient(const CrossEntropy<Fp16>& op, double seed,
                                        const LossSums& sums, std::uint32_t* counters,
                                        cudaStream_t stream) {
  return with_gradient<false>(op, {}, seed, sums, counters, stream);
}
template <class T>
cudaError_t changed_cross_entropy_with_gradient(const CrossEntropy<T>& op,
                                                const LogitChange& change, double seed,
                                                const LossSums& sums, std::uint32_t* counters,
                                                cudaStream_t stream) {
  return with_gradient<true>(op, change, seed, sums, counters, stream);
}
template cudaError_t changed_cross_entropy_with_gradient(const CrossEntropy<float>&,
                                                         const LogitChange&, double,
                                                         const LossSums&, std::uint32_t*,
                                                         cudaStream_t);
template cudaError_t changed_cross_entropy_with_gradient(const CrossEntropy<Bf16>&,
                                                         const LogitChange&, double,
                                                         const LossSums&, std::uint32_t*,
                                                         cudaStream_t);
template cudaError_t changed_cross_entropy_with_gradient(const CrossEntropy<Fp16>&,
                                                         const LogitChange&, double,
                                                         const LossSums&, std::uint32_t*,
                                                         cudaStream_t);
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
