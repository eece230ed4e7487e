// Two thread blocks that run side by side and reach each other's shared memory (PTX ISA, "Cluster
// of cooperative thread arrays", "mapa", "cp.async.bulk.tensor" with .multicast::cluster).
#pragma once
#include "kernels/hopper/matrix_box.cuh"

namespace trainx::kernels::hopper {

constexpr int cluster_blocks = 2;

/// This block's number in its cluster.
__device__ __forceinline__ int block_of_cluster() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}
/// Waits for all threads of the cluster; what they did before is seen. A block may end, and its
/// barriers be used, only when the other has come here.
__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
/// Arrives at the barrier that lies at the same place in that block. What this thread stored is not
/// shown to it: .release.cluster would have the thread wait for all of its memory each time
/// (MEMBAR.ALL.GPU).
__device__ __forceinline__ void arrive_at_block(std::uint32_t barrier, int block) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(block)
      : "memory");
}
/// load_box into both blocks, at the same place; the barrier at its place in each gets the bytes.
__device__ __forceinline__ void load_box_to_cluster(std::uint32_t shared, const CUtensorMap& map,
                                                    int column, int row, int matrix,
                                                    std::uint32_t barrier) {
  constexpr std::uint16_t blocks = (1 << cluster_blocks) - 1;
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(column), "r"(row), "r"(matrix), "r"(barrier),
      "h"(blocks)
      : "memory");
}

}  // namespace trainx::kernels::hopper
