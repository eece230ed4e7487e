// Boxes of 64 rows by 64 bf16 between device memory and shared memory by the copy engine (PTX ISA,
// "cp.async.bulk.tensor"; CUDA driver API, "Tensor Map Object Management").
//
// A box in shared memory has rows of 128 bytes in atoms of 8 rows (1024 bytes, to which it is
// aligned). Within an atom the 16-byte chunk c of row r lies at place c ^ r % 8 (swizzle of 128
// bytes), so that neither rows nor columns of chunks fall into the same banks.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cstdint>
#include "kernels/hopper/turns.cuh"

namespace trainx::kernels::hopper {

constexpr int box_rows = 64, box_columns = 64, box_row_bytes = 128, atom_bytes = 1024,
              box_bytes = box_rows * box_row_bytes;

using EncodeTensorMap = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                     const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                     const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/// cuTensorMapEncodeTiled of the driver that runs, so that nothing links libcuda; null if it has
/// none.
inline EncodeTensorMap tensor_map_encoder() {
  static const EncodeTensorMap encoder = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                               12000, cudaEnableDefault, &result);
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess
               ? reinterpret_cast<EncodeTensorMap>(found)
               : nullptr;
  }();
  return encoder;
}

/// Byte of chunk `chunk` (8 columns) of row `row` of a box.
__host__ __device__ constexpr int chunk_at(int row, int chunk) {
  return row * box_row_bytes + ((chunk ^ (row & 7)) << 4);
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(&map)) : "memory");
}

/// One thread. Bytes side by side, a multiple of 16 and aligned to it.
__device__ __forceinline__ void load_bytes(std::uint32_t shared, const void* from, int bytes,
                                           std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(shared),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// One thread, after all who wrote the bytes called show_to_async_readers() and it waited for them.
/// Bytes side by side, a multiple of 16 and aligned to it.
__device__ __forceinline__ void store_bytes(void* to, std::uint32_t shared, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(shared), "r"(bytes)
               : "memory");
}
/// The same, numbers of fp32 that are added to what is there.
__device__ __forceinline__ void add_bytes(void* to, std::uint32_t shared, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(shared), "r"(bytes)
               : "memory");
}
/// Until all stores of this thread are seen by it, and by those that it gives a turn to.
__device__ __forceinline__ void finish_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/// Until shared memory was read by all stores of this thread but for those that it committed last,
/// so many times.
template <int but_for = 0>
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(but_for) : "memory");
}

/// Four 8 x 8 matrices of 16-bit elements, of which a thread has two neighbours in row lane / 4,
/// columns 2 (lane % 4) and one more; lane l addresses row l % 8 of matrix l / 8. Transposed: the
/// rows in memory are the matrices' columns. (PTX ISA, "stmatrix")
template <bool Transposed>
__device__ __forceinline__ void store_matrices(std::uint32_t at, std::uint32_t a, std::uint32_t b,
                                               std::uint32_t c, std::uint32_t d) {
  if constexpr (Transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

}  // namespace trainx::kernels::hopper
