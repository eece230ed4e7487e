// Sizes of products in tiles of 128 x 256, and their launches.
#pragma once
#include <initializer_list>
#include <limits>
#include "kernels/hopper/device.hpp"
#include "kernels/launch.hpp"
#include "kernels/linear/hopper/linear_tiles.cuh"

namespace trainx::kernels::hopper {

inline std::int64_t tiles_of(std::int64_t size, int tile) { return (size + tile - 1) / tile; }

inline bool linear_fits(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return columns % 8 == 0 && depth % 8 == 0 && depth > 0 && rows <= most - tile_rows &&
         columns <= most - tile_columns && depth <= most - tile_depth &&
         tiles_of(rows, tile_rows) * tiles_of(columns, tile_columns) <= most / 2;
}

inline bool all_aligned(std::initializer_list<const void*> pointers) {
  for (const void* p : pointers)
    if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) return false;
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
template <class Arguments>
cudaError_t launch_linear(void (*kernel)(Arguments), const Arguments& arguments, LinearArguments& a,
                          cudaStream_t stream) {
  using C = LinearCut;
  int multiprocessors = 0;
  for (const cudaError_t error :
       {multiprocessors_of_device(multiprocessors),
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes)})
    if (error != cudaSuccess) return error;
  a.counter = next_counter();
  const int tiles = a.row_tiles * a.column_tiles;
  kernel<<<static_cast<unsigned>(tiles < multiprocessors ? tiles : multiprocessors), C::threads,
           C::shared_bytes, stream>>>(arguments);
  return cudaGetLastError();
}

}  // namespace trainx::kernels::hopper
