// Sizes of products in tiles of 128 x 256, and their launches.
#pragma once
#include <initializer_list>
#include <limits>
#include "kernels/eight.cuh"
#include "kernels/hopper/device.hpp"
#include "kernels/launch.hpp"
#include "kernels/linear/hopper/linear_tiles.cuh"

namespace trainx::kernels::hopper {

inline std::int64_t tiles_of(std::int64_t size, int tile) { return (size + tile - 1) / tile; }

inline bool linear_fits(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return columns % 8 == 0 && depth % 8 == 0 && depth > 0 &&
         rows <= most - cluster_blocks * tile_rows && columns <= most - tile_columns &&
         depth <= most - tile_depth &&
         tiles_of(rows, tile_rows) * tiles_of(columns, tile_columns) <= most / 2;
}

inline bool all_aligned(std::initializer_list<const void*> pointers) {
  for (const void* p : pointers)
    if (!aligned16(p)) return false;
  return true;
}

/// C's tiles, and the depth of the sum.
inline void set_sizes(LinearArguments& a, std::int64_t rows, std::int64_t columns,
                      std::int64_t depth) {
  a.rows = static_cast<int>(rows), a.columns = static_cast<int>(columns);
  a.steps = static_cast<int>(tiles_of(depth, tile_depth));
  a.row_tiles = static_cast<int>(tiles_of(rows, tile_rows));
  a.column_tiles = static_cast<int>(tiles_of(columns, tile_columns));
}

/// `arguments`: what the kernel takes, which `a` is a part of.
template <class Form, class Arguments>
cudaError_t launch_linear(void (*kernel)(Arguments), const Arguments& arguments, LinearArguments& a,
                          cudaStream_t stream) {
  using C = typename Form::Cut;
  int multiprocessors = 0;
  for (const cudaError_t error :
       {multiprocessors_of_device(multiprocessors),
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes)})
    if (error != cudaSuccess) return error;
  a.counter = next_counter();
  // a cluster's blocks run on neighbouring multiprocessors, of which there are pairs
  const int turns = (a.row_tiles + Form::sharing - 1) / Form::sharing * a.column_tiles,
            at_once = multiprocessors / Form::sharing;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = Form::sharing;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = static_cast<unsigned>(Form::sharing * (turns < at_once ? turns : at_once));
  launch.blockDim = C::threads;
  launch.dynamicSmemBytes = C::shared_bytes;
  launch.stream = stream;
  launch.attrs = &cluster;
  launch.numAttrs = Form::in_pairs ? 1 : 0;
  return cudaLaunchKernelEx(&launch, kernel, arguments);
}

}  // namespace trainx::kernels::hopper
