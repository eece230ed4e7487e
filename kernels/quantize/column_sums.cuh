// Column sums of what a launch casts to fp8: blocks that share columns leave a slab of sums each,
// and a launch behind it adds them up.
#pragma once
#include "kernels/fold_vectors.cuh"
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

constexpr int fp8_most_slabs = 64;

/// sums[columns] = or += what is put.
struct ColumnSums {
  float* sums;
  std::int64_t columns;
  bool accumulate;
  // f32 [slabs, pitch()] of all slabs; of no slab where one block has all rows of its columns
  float* slabs = nullptr;

  __host__ __device__ std::int64_t pitch() const { return (columns + 3) / 4 * 4; }
  __device__ void put(std::int64_t column, float total) const {
    if (column < columns) sums[column] = accumulate ? sums[column] + total : total;
  }
  /// What a block of slab `slab` has found.
  __device__ void leave(unsigned slab, std::int64_t column, float total) const {
    if (!slabs)
      put(column, total);
    else if (column < columns)
      slabs[slab * pitch() + column] = total;
  }
  /// Of fold_vectors.
  __device__ void operator()(int four, const float4& total) const {
    put(4 * four, total.x);
    put(4 * four + 1, total.y);
    put(4 * four + 2, total.z);
    put(4 * four + 3, total.w);
  }
};

inline cudaError_t add_slabs(const ColumnSums& to, unsigned slabs, cudaStream_t stream) {
  constexpr int fan = 8;
  static_assert(fan * fan == fp8_most_slabs);
  if (!to.sums || !to.slabs) return cudaSuccess;
  return fold_vectors<fan>(reinterpret_cast<const float4*>(to.slabs), static_cast<int>(slabs),
                           static_cast<int>(to.pitch() / 4), to, stream);
}

}  // namespace trainx::kernels
