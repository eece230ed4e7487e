#include "kernels/eight.cuh"
#include "kernels/experts/dispatch_rows.hpp"
#include "kernels/launch.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

constexpr int threads = 256, warps = threads / 32, most_blocks = 64;
constexpr unsigned all_lanes = 0xffffffffu;

/// The items of a warp of the sort: neighbours, the same number for each.
struct Items {
  std::int64_t begin, end;
};
__device__ Items items_of_warp(std::int64_t items) {
  const std::int64_t parts = static_cast<std::int64_t>(gridDim.x) * warps,
                     each = (items + parts - 1) / parts,
                     begin = (static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32) *
                             each,
                     end = begin + each;
  return {begin, end < items ? end : items};
}

/// Calls f(item, expert, lanes with the same expert, their first lane) for 32 items at a time, in
/// their order; beyond the last the expert is -1.
template <class F>
__device__ void for_items(const ExpertSort& op, const Items& items, F f) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (std::int64_t i = items.begin; i < items.end; i += 32) {
    const std::int64_t item = i + lane;
    const int expert = item < items.end ? op.indices[item] : -1;
    const unsigned peers = __match_any_sync(all_lanes, expert);
    f(item, expert, peers, __ffs(static_cast<int>(peers)) - 1 == lane);
    __syncwarp();
  }
}

/// counts[E] += the warp's items of each expert. One lane of each expert adds.
__device__ void count_items(const ExpertSort& op, const Items& items, int* counts) {
  for_items(op, items, [&](std::int64_t, int expert, unsigned peers, bool first) {
    if (expert >= 0 && first) counts[expert] += __popc(peers);
  });
}

/// counts[warps][E] of the block's items.
__device__ void count_in_block(const ExpertSort& op, int* counts) {
  const int experts = static_cast<int>(op.experts);
  for (int i = static_cast<int>(threadIdx.x); i < warps * experts; i += threads) counts[i] = 0;
  __syncthreads();
  count_items(op, items_of_warp(op.items), counts + static_cast<int>(threadIdx.x / 32) * experts);
  __syncthreads();
}

__device__ int sum_of_warps(const int* counts, int experts, int expert) {
  int sum = 0;
#pragma unroll
  for (int w = 0; w < warps; ++w) sum += counts[w * experts + expert];
  return sum;
}

// of_blocks[blocks][E]
__global__ void __launch_bounds__(threads) count_kernel(ExpertSort op, std::int32_t* of_blocks) {
  extern __shared__ int counts[];
  count_in_block(op, counts);
  const int experts = static_cast<int>(op.experts);
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += threads)
    of_blocks[static_cast<std::int64_t>(blockIdx.x) * experts + e] =
        sum_of_warps(counts, experts, e);
}

/// values[n] become the sums of those before; returns the sum of all. Of one warp.
__device__ int add_up(int* values, int n) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int before = 0;
  for (int base = 0; base < n; base += 32) {
    const int own = base + lane < n ? values[base + lane] : 0;
    int sum = own;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int below = __shfl_up_sync(all_lanes, sum, distance);
      if (lane >= distance) sum += below;
    }
    if (base + lane < n) values[base + lane] = before + sum - own;
    before += __shfl_sync(all_lanes, sum, 31);
  }
  return before;
}

/// `row`: if rows had no gaps, and this one had room.
__device__ void place_item(const ExpertSort& op, const int* first, std::int64_t item, int expert,
                           int row) {
  const int capacity = static_cast<int>(op.capacity), of_expert = row - first[expert];
  int place = op.in_slots ? expert * capacity + of_expert : row;
  if (capacity > 0 && of_expert >= capacity) place = -1;
  op.places[item] = place;
}

// Each block counts its own items again, and adds up what the blocks before it have.
__global__ void __launch_bounds__(threads)
    place_kernel(ExpertSort op, const std::int32_t* of_blocks) {
  // [warps][E]; first rows of experts [E], and the end of all; items of blocks before [E]
  extern __shared__ int next[];
  const int experts = static_cast<int>(op.experts), blocks = static_cast<int>(gridDim.x),
            block = static_cast<int>(blockIdx.x);
  int *const first = next + warps * experts, *const before = first + experts + 1;
  count_in_block(op, next);
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += threads) {
    int sum = 0, earlier = 0;
    if (blocks == 1) {
      sum = sum_of_warps(next, experts, e);
    } else {
#pragma unroll 8
      for (int b = 0; b < blocks; ++b) {
        const int count = of_blocks[b * experts + e];
        sum += count;
        earlier += b < block ? count : 0;
      }
    }
    first[e] = op.capacity > 0 ? min(sum, static_cast<int>(op.capacity)) : sum;
    before[e] = earlier;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    const int all = add_up(first, experts);
    if (threadIdx.x == 0) first[experts] = all;
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += threads) {
    if (op.offsets && block == 0) {
      op.offsets[e] = first[e];
      if (e + 1 == experts) op.offsets[experts] = first[experts];
    }
    int row = first[e] + before[e];
    for (int w = 0; w < warps; ++w) {
      const int count = next[w * experts + e];
      next[w * experts + e] = row;
      row += count;
    }
  }
  __syncthreads();
  if (!op.places) return;
  const std::int64_t end = items_of_warp(op.items).end;
  int* const own = next + static_cast<int>(threadIdx.x / 32) * experts;
  const unsigned below = (1u << threadIdx.x % 32) - 1;
  for_items(op, items_of_warp(op.items),
            [&](std::int64_t item, int expert, unsigned peers, bool is_first) {
              if (expert >= 0)
                place_item(op, first, item, expert, own[expert] + __popc(peers & below));
              else if (item < end)
                op.places[item] = -1;
              __syncwarp();
              if (expert >= 0 && is_first) own[expert] += __popc(peers);
            });
}

// A warp a token.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads) dispatch_rows_kernel(DispatchRows<T> op) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  const int columns = static_cast<int>(op.columns), per_token = static_cast<int>(op.per_token);
  for (std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
       n < op.tokens; n += step)
    for (int c = 8 * static_cast<int>(threadIdx.x % 32); c < columns; c += 8 * 32) {
      const Eight<T> x = load8<aligned>(op.x + n * columns + c, columns - c);
      for (int j = 0; j < per_token; ++j) {
        const std::int64_t row = op.places[n * per_token + j];
        if (row >= 0) store8<aligned>(op.rows + row * columns + c, x, columns - c);
      }
    }
}

template <class T, bool aligned, bool sparse>
__global__ void __launch_bounds__(threads)
    dispatch_rows_backward_kernel(DispatchRowsBackward<T> op) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  const int columns = static_cast<int>(op.columns), per_token = static_cast<int>(op.per_token);
  for (std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
       n < op.tokens; n += step)
    for (int c = 8 * static_cast<int>(threadIdx.x % 32); c < columns; c += 8 * 32) {
      float sums[8] = {}, more[8];
      if (op.addend) widen8(load8<aligned>(op.addend + n * columns + c, columns - c), sums);
#pragma unroll 4
      for (int j = 0; j < per_token; ++j) {
        const std::int64_t row = op.places[n * per_token + j];
        if (sparse && row < 0) continue;
        widen8(load8<aligned>(op.d_rows + row * columns + c, columns - c), more);
#pragma unroll
        for (int i = 0; i < 8; ++i) sums[i] += more[i];
      }
      Eight<T> rounded;
      narrow8(sums, rounded);
      store8<aligned>(op.dx + n * columns + c, rounded, columns - c);
    }
}

constexpr std::int64_t most_columns = std::int64_t{1} << 30;

cudaError_t blocks_of(std::int64_t tokens, unsigned& blocks) {
  return blocks_for((tokens + warps - 1) / warps, 8, blocks);
}

}  // namespace

std::int64_t expert_sort_scratch_bytes(std::int64_t experts) { return 4 * most_blocks * experts; }

cudaError_t expert_sort(const ExpertSort& op, std::int32_t* counts, cudaStream_t stream) {
  if (op.experts < 1 || op.experts > most_sorted_experts || op.items >= std::int64_t{1} << 31 ||
      op.capacity < 0 || op.capacity >= std::int64_t{1} << 31 ||
      (op.in_slots && (op.capacity == 0 || op.experts * op.capacity >= std::int64_t{1} << 31)))
    return cudaErrorInvalidValue;
  // two turns of a warp at least, so that a few items take one block
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::int64_t>((op.items + 2 * threads - 1) / (2 * threads), 1, most_blocks));
  const auto bytes = static_cast<unsigned>(op.experts) * 4;
  if (blocks > 1) {
    count_kernel<<<blocks, threads, warps * bytes, stream>>>(op, counts);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  place_kernel<<<blocks, threads, (warps + 2) * bytes + 4, stream>>>(op, counts);
  return cudaGetLastError();
}

template <class T>
cudaError_t dispatch_rows(const DispatchRows<T>& op, cudaStream_t stream) {
  if (op.tokens == 0 || op.columns == 0) return cudaSuccess;
  if (op.columns > most_columns) return cudaErrorInvalidValue;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.tokens, blocks); error != cudaSuccess) return error;
  if (op.columns % 8 == 0 && aligned16(op.x) && aligned16(op.rows))
    dispatch_rows_kernel<T, true><<<blocks, threads, 0, stream>>>(op);
  else
    dispatch_rows_kernel<T, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

template <class T>
cudaError_t dispatch_rows_backward(const DispatchRowsBackward<T>& op, cudaStream_t stream) {
  if (op.tokens == 0 || op.columns == 0) return cudaSuccess;
  if (op.columns > most_columns) return cudaErrorInvalidValue;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.tokens, blocks); error != cudaSuccess) return error;
  if (op.columns % 8 == 0 && aligned16(op.d_rows) && aligned16(op.addend) && aligned16(op.dx))
    op.sparse ? dispatch_rows_backward_kernel<T, true, true><<<blocks, threads, 0, stream>>>(op)
              : dispatch_rows_backward_kernel<T, true, false><<<blocks, threads, 0, stream>>>(op);
  else
    op.sparse ? dispatch_rows_backward_kernel<T, false, true><<<blocks, threads, 0, stream>>>(op)
              : dispatch_rows_backward_kernel<T, false, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

#define TRAINX_DISPATCH(T)                                                  \
  template cudaError_t dispatch_rows(const DispatchRows<T>&, cudaStream_t); \
  template cudaError_t dispatch_rows_backward(const DispatchRowsBackward<T>&, cudaStream_t);
TRAINX_DISPATCH(float)
TRAINX_DISPATCH(Bf16)
TRAINX_DISPATCH(Fp16)
#undef TRAINX_DISPATCH

}  // namespace trainx::kernels
