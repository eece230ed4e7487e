// Tensor maps of three dimensions, for one matrix or one for each expert, and their boxes
// (box.cuh).
#pragma once
#include <type_traits>
#include "kernels/bits.hpp"
#include "kernels/hopper/box.cuh"

namespace trainx::kernels::hopper {

struct Extents {
  std::int64_t columns, rows, matrices;
  std::int64_t row_stride, matrix_stride;  // in elements
};

template <class T>
cudaError_t encode_map(CUtensorMap& map, const T* data, const Extents& of, int box_columns_of,
                       int box_rows_of) {
  const EncodeTensorMap encode = tensor_map_encoder();
  if (!encode) return cudaErrorNotSupported;
  constexpr CUtensorMapDataType type = std::is_same_v<T, float>  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                       : std::is_same_v<T, Bf16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                                 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const auto bytes = [](std::int64_t n) { return static_cast<cuuint64_t>(n) * sizeof(T); };
  const auto count = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const cuuint64_t extent[] = {count(of.columns), count(of.rows), count(of.matrices)},
                   stride[] = {bytes(of.row_stride), bytes(of.matrix_stride)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_columns_of),
                            static_cast<cuuint32_t>(box_rows_of), 1},
                   step[] = {1, 1, 1};
  const CUresult result = encode(&map, type, 3, const_cast<void*>(static_cast<const void*>(data)),
                                 extent, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

/// A matrix for each expert, or one.
template <class T>
cudaError_t make_matrix_map(CUtensorMap& map, const T* data, const Extents& of, int box_rows_of) {
  return encode_map(map, data, of, 128 / static_cast<int>(sizeof(T)), box_rows_of);
}

/// One thread. The barrier gets the bytes of the box, also for what lies outside.
__device__ __forceinline__ void load_box(std::uint32_t shared, const CUtensorMap& map, int column,
                                         int row, int matrix, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(column), "r"(row), "r"(matrix), "r"(barrier)
      : "memory");
}
/// One thread, after all who wrote the box called show_to_async_readers() and it waited for them.
__device__ __forceinline__ void store_box(const CUtensorMap& map, int column, int row, int matrix,
                                          std::uint32_t shared) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
          reinterpret_cast<std::uint64_t>(&map)),
      "r"(column), "r"(row), "r"(matrix), "r"(shared)
      : "memory");
}
/// The same, numbers of fp32 that are added to what is there.
__device__ __forceinline__ void add_box(const CUtensorMap& map, int column, int row, int matrix,
                                        std::uint32_t shared) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group "
      "[%0, {%1, %2, %3}], [%4];" ::"l"(reinterpret_cast<std::uint64_t>(&map)),
      "r"(column), "r"(row), "r"(matrix), "r"(shared)
      : "memory");
}
/// Until shared memory was read by all stores of this thread but the last batch.
__device__ __forceinline__ void wait_for_older_stores() {
  asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}

}  // namespace trainx::kernels::hopper
