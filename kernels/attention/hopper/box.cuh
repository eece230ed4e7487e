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
#include "kernels/attention/hopper/hopper_attention.hpp"
#include "kernels/attention/hopper/turns.cuh"

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

/// Map of rows (b, t, h): coordinates of a box are {element, head, token, sample}. Elements past
/// the last token are read as zeros and not written.
template <class T>
cudaError_t make_map(CUtensorMap& map, const Rows<T>& rows, const Size& size, std::int64_t heads) {
  const EncodeTensorMap encode = tensor_map_encoder();
  if (!encode) return cudaErrorNotSupported;
  const auto bytes = [](std::int64_t elements) { return static_cast<cuuint64_t>(2 * elements); };
  const auto count = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const cuuint64_t extent[] = {count(size.head_size), count(heads), count(size.tokens),
                               count(size.batch)},
                   stride[] = {bytes(rows.head), bytes(rows.token), bytes(rows.batch)};
  const cuuint32_t box[] = {box_columns, 1, box_rows, 1}, step[] = {1, 1, 1, 1};
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4,
                                 const_cast<void*>(static_cast<const void*>(rows.data)), extent,
                                 stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

template <class T>
cudaError_t make_map(CUtensorMap& map, const Rows<T>& rows, const Size& size) {
  return make_map(map, rows, size, size.heads);
}

/// Byte of chunk `chunk` (8 columns) of row `row` of a box.
__host__ __device__ constexpr int chunk_at(int row, int chunk) {
  return row * box_row_bytes + ((chunk ^ (row & 7)) << 4);
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(&map)) : "memory");
}

/// One thread. The barrier gets box_bytes, also for rows that lie outside.
__device__ __forceinline__ void load_box(std::uint32_t shared, const CUtensorMap& map, int column,
                                         int head, int token, int sample, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(column), "r"(head), "r"(token), "r"(sample),
      "r"(barrier)
      : "memory");
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
/// One thread, after all who wrote the box called show_to_async_readers() and it waited for them.
__device__ __forceinline__ void store_box(const CUtensorMap& map, int column, int head, int token,
                                          int sample, std::uint32_t shared) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
          reinterpret_cast<std::uint64_t>(&map)),
      "r"(column), "r"(head), "r"(token), "r"(sample), "r"(shared)
      : "memory");
}
__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// One thread, as above. Bytes side by side, a multiple of 16 and aligned to it.
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
/// Until shared memory was read by all stores of this thread.
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
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
