#include "kernels/experts/dispatch_rows.hpp"
#include "kernels/experts/rank_slots.hpp"
#include "kernels/launch.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

__device__ __forceinline__ int rank_of(const RankChoices& of, int expert) {
  return expert < 0 ? -1 : expert / static_cast<int>(of.experts / of.ranks);
}

/// Calls f(i) for each of n items.
template <class F>
__device__ void for_each(std::int64_t n, F f) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < n;
       i += step)
    f(i);
}

__global__ void __launch_bounds__(threads) ranks_of_choices_kernel(KeptChoices op) {
  for_each(op.of.tokens * op.of.per_token,
           [&](std::int64_t i) { op.kept[i] = rank_of(op.of, op.of.indices[i]); });
}

/// `kept` has places: below 0 of what has no room.
__global__ void __launch_bounds__(threads) indices_of_kept_kernel(KeptChoices op) {
  for_each(op.of.tokens * op.of.per_token,
           [&](std::int64_t i) { op.kept[i] = op.kept[i] >= 0 ? op.of.indices[i] : -1; });
}

// A thread a token. Ranks ascend: each round finds the smallest one above the last.
__global__ void __launch_bounds__(threads) ranks_of_tokens_kernel(RankPlaces op) {
  const int most = static_cast<int>(op.most), k = static_cast<int>(op.of.per_token),
            none = static_cast<int>(op.of.ranks);
  for_each(op.of.tokens, [&](std::int64_t n) {
    int last = -1;
    for (int i = 0; i < most; ++i) {
      int next = none;
      for (int j = 0; j < k && last < none; ++j) {
        const int rank = rank_of(op.of, op.of.indices[n * k + j]);
        if (rank > last) next = min(next, rank);
      }
      op.places[n * most + i] = next < none ? next : -1;
      last = next;
    }
  });
}

// A thread an element of the rows that have a token.
__global__ void __launch_bounds__(threads) rank_slots_kernel(RankSlots op) {
  const auto k = static_cast<int>(op.of.per_token), most = static_cast<int>(op.most),
             each = static_cast<int>(op.of.experts / op.of.ranks);
  for_each(op.of.tokens * most * k, [&](std::int64_t i) {
    const std::int64_t p = i / k, n = p / most;
    const int j = static_cast<int>(i % k), place = op.places[p];
    if (place < 0) return;
    const int expert = op.of.indices[n * k + j];
    const bool is_here = expert >= 0 && expert / each == place / static_cast<int>(op.capacity);
    const std::int64_t to = static_cast<std::int64_t>(place) * k + j;
    if (op.owners) op.owners[to] = is_here ? expert % each : -1;
    if (op.weights) op.weights[to] = is_here ? op.token_weights[n * k + j] : 0.0f;
  });
}

__global__ void __launch_bounds__(threads) rank_slots_backward_kernel(RankSlotsBackward op) {
  const auto k = static_cast<int>(op.of.per_token), most = static_cast<int>(op.most),
             capacity = static_cast<int>(op.capacity);
  for_each(op.of.tokens * k, [&](std::int64_t i) {
    const std::int64_t n = i / k;
    const int rank = rank_of(op.of, op.of.indices[i]);
    float d = 0;
    for (int p = 0; p < most; ++p) {
      const int place = op.places[n * most + p];
      if (place >= 0 && place / capacity == rank)
        d = op.d_weights[static_cast<std::int64_t>(place) * k + i % k];
    }
    op.d_token_weights[i] = d;
  });
}

constexpr std::int64_t most_items = std::int64_t{1} << 31;

bool is_valid(const RankChoices& of) {
  return of.ranks >= 1 && of.experts >= of.ranks && of.experts <= most_sorted_experts &&
         of.experts % of.ranks == 0 && of.per_token >= 1 && of.tokens * of.per_token < most_items;
}
bool is_valid(const RankChoices& of, std::int64_t most, std::int64_t capacity) {
  return is_valid(of) && most >= 1 && most <= of.per_token && capacity >= 1 &&
         of.ranks * capacity < most_items;
}

cudaError_t blocks_of(std::int64_t items, unsigned& blocks) {
  return blocks_for((items + threads - 1) / threads, 8, blocks);
}

}  // namespace

cudaError_t kept_choices(const KeptChoices& op, std::int32_t* counts, cudaStream_t stream) {
  const std::int64_t items = op.of.tokens * op.of.per_token;
  if (!is_valid(op.of) || op.capacity < 1) return cudaErrorInvalidValue;
  if (items == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(items, blocks); error != cudaSuccess) return error;
  ranks_of_choices_kernel<<<blocks, threads, 0, stream>>>(op);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  ExpertSort sort{items, op.of.ranks, op.kept, op.kept};
  sort.capacity = op.capacity;
  if (const cudaError_t error = expert_sort(sort, counts, stream); error != cudaSuccess)
    return error;
  indices_of_kept_kernel<<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

cudaError_t rank_places(const RankPlaces& op, std::int32_t* counts, cudaStream_t stream) {
  if (!is_valid(op.of, op.most, op.capacity)) return cudaErrorInvalidValue;
  if (op.of.tokens == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.of.tokens, blocks); error != cudaSuccess) return error;
  ranks_of_tokens_kernel<<<blocks, threads, 0, stream>>>(op);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  ExpertSort sort{op.of.tokens * op.most, op.of.ranks, op.places, op.places};
  sort.capacity = op.capacity;
  sort.in_slots = true;
  return expert_sort(sort, counts, stream);
}

cudaError_t rank_slots(const RankSlots& op, cudaStream_t stream) {
  if (!is_valid(op.of, op.most, op.capacity) || (op.weights && !op.token_weights))
    return cudaErrorInvalidValue;
  if (op.owners)
    if (const cudaError_t error = cudaMemsetAsync(
            op.owners, 0xff,
            static_cast<std::size_t>(op.of.ranks * op.capacity * op.of.per_token) * 4, stream);
        error != cudaSuccess)
      return error;
  if (op.of.tokens == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.of.tokens * op.most * op.of.per_token, blocks);
      error != cudaSuccess)
    return error;
  rank_slots_kernel<<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

cudaError_t rank_slots_backward(const RankSlotsBackward& op, cudaStream_t stream) {
  if (!is_valid(op.of, op.most, op.capacity)) return cudaErrorInvalidValue;
  if (op.of.tokens == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_of(op.of.tokens * op.of.per_token, blocks);
      error != cudaSuccess)
    return error;
  rank_slots_backward_kernel<<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
