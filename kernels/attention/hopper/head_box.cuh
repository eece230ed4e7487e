// Boxes of 64 tokens by 64 elements of a head (kernels/hopper/box.cuh).
#pragma once
#include <cstdint>
#include "kernels/attention/hopper/hopper_attention.hpp"
#include "kernels/hopper/box.cuh"

namespace trainx::kernels::hopper {

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
/// One thread, after all who wrote the box called show_to_async_readers() and it waited for them.
__device__ __forceinline__ void store_box(const CUtensorMap& map, int column, int head, int token,
                                          int sample, std::uint32_t shared) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
          reinterpret_cast<std::uint64_t>(&map)),
      "r"(column), "r"(head), "r"(token), "r"(sample), "r"(shared)
      : "memory");
}

}  // namespace trainx::kernels::hopper
