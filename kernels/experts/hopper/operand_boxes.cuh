// Boxes of the rows of experts' products, which end where an expert's do.
#pragma once
#include "kernels/experts/hopper/hopper_tiles.hpp"
#include "kernels/hopper/matrix_box.cuh"

namespace trainx::kernels::hopper {

/// Rows of all experts, to be cut where an expert's end (clipped_rows). Addresses below `data` are
/// in the map, and never in a box.
template <int box, class T>
cudaError_t make_clipped_map(CUtensorMap& map, const T* data, std::int64_t rows,
                             std::int64_t columns, std::int64_t stride) {
  const std::uintptr_t below = reinterpret_cast<std::uintptr_t>(data) -
                               static_cast<std::uintptr_t>(box * stride) * sizeof(T);
  return encode_map(map, reinterpret_cast<const T*>(below),
                    {columns, box, rows + 1, stride, stride}, 128 / static_cast<int>(sizeof(T)),
                    box);
}

template <int box>
__device__ __forceinline__ void load_clipped(std::uint32_t shared, const CUtensorMap& map,
                                             int column, int first, int valid,
                                             std::uint32_t barrier) {
  const ClippedRows at = clipped_rows<box>(first, valid);
  load_box(shared, map, column, at.inside, at.from, barrier);
}

}  // namespace trainx::kernels::hopper
