// A row of a norm lies in the registers of `group` warps, `vectors` pieces of eight columns a
// thread.
#pragma once
#include "kernels/eight.cuh"

namespace trainx::kernels {

template <int vectors_, int group_, int warps_>
struct RowGroup {
  static constexpr int vectors = vectors_, group = group_, warps = warps_;
  static constexpr int threads = 32 * warps, width = 32 * group, rows_per_block = warps / group;
  static constexpr int capacity = 8 * width * vectors;  // columns

  __device__ static int row_of_block() { return static_cast<int>(threadIdx.x) / width; }
  /// First column of piece v of this thread: neighbouring threads have neighbouring pieces.
  __device__ static int column(int v) {
    return 8 * (v * width + static_cast<int>(threadIdx.x) % width);
  }

  /// Waits for the threads of the row.
  __device__ static void sync() {
    constexpr int barriers = 15;  // that are free beside the block's
    if constexpr (rows_per_block > 1 && rows_per_block <= barriers) {
      __syncwarp();  // the barrier counts whole warps
      asm volatile("bar.sync %0, %1;" ::"r"(1 + row_of_block()), "n"(width) : "memory");
    } else {
      __syncthreads();
    }
  }

  /// Sums over the row, the same in all its threads. All threads of the block call it. `turn`
  /// alternates between two halves of `shared` [2 * warps * n], so that one barrier is enough.
  template <int n>
  __device__ static void sum(float (&x)[n], float* shared, int& turn) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2)
        x[i] += __shfl_xor_sync(0xffffffffu, x[i], offset);
    }
    if constexpr (group > 1) {
      float* mine = shared + turn * warps * n;
      turn ^= 1;
      const int warp = static_cast<int>(threadIdx.x) / 32, first = warp / group * group;
      if (threadIdx.x % 32 == 0) {
#pragma unroll
        for (int i = 0; i < n; ++i) mine[warp * n + i] = x[i];
      }
      sync();
#pragma unroll
      for (int i = 0; i < n; ++i) {
        float total = mine[first * n + i];
#pragma unroll
        for (int w = 1; w < group; ++w) total += mine[(first + w) * n + i];
        x[i] = total;
      }
    }
  }
};

}  // namespace trainx::kernels
