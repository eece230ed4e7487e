// Which expert's rows a thread block computes.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels::grouped {

/// Rows of one expert.
struct RowRange {
  int expert, first, end;
};

/// Tile number `tile` of all experts' tiles of rows, each expert's from its first row on. False: so
/// many there are not. Every warp of the block calls it, and all get the same.
template <int tile_rows>
__device__ __forceinline__ bool find_rows(const std::int32_t* offsets, int experts, int tile,
                                          RowRange& found) {
  constexpr unsigned all = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int before = 0;  // tiles of the experts that were looked at
  for (int base = 0; base < experts; base += 32) {
    const int e = base + lane;
    const int from = e < experts ? offsets[e] : 0, to = e < experts ? offsets[e + 1] : 0;
    const int tiles = (to - from + tile_rows - 1) / tile_rows;
    int sum = tiles;  // with those of the lanes below
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int below = __shfl_up_sync(all, sum, distance);
      if (lane >= distance) sum += below;
    }
    const unsigned behind = __ballot_sync(all, before + sum > tile);
    if (behind != 0) {
      const int owner = __ffs(static_cast<int>(behind)) - 1;
      const int skipped = before + __shfl_sync(all, sum - tiles, owner);
      found.expert = base + owner;
      found.first = __shfl_sync(all, from, owner) + (tile - skipped) * tile_rows;
      found.end = __shfl_sync(all, to, owner);
      return true;
    }
    before += __shfl_sync(all, sum, 31);
  }
  return false;
}

}  // namespace trainx::kernels::grouped
