// Which tile a block of a launch computes next, after the one of its own number.
#pragma once
#include <atomic>

namespace trainx::kernels::hopper {

/// Tiles that blocks took beyond their first ones, and blocks that found no more: so a block that
/// starts late, because another kernel holds its multiprocessor, finds less to do. The last block
/// sets both to 0 again. Launches that may run at the same time have counters of their own.
struct NextTile {
  int taken, finished;
};
constexpr int next_tile_count = 1024;
static __device__ NextTile next_tiles[next_tile_count];  // of this file's kernels

/// For the next launch.
inline int next_counter() {
  static std::atomic<unsigned> launches{0};
  return static_cast<int>(launches.fetch_add(1, std::memory_order_relaxed) % next_tile_count);
}

}  // namespace trainx::kernels::hopper
