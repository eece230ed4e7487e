#include "kernels/launch.hpp"
#include "kernels/optimizer/adafactor_element.hpp"
#include "kernels/optimizer/block_sum.cuh"
#include "kernels/optimizer/weight_kinds.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = sum_threads, warps = threads / 32;
constexpr int blocks_per_multiprocessor = 6;
constexpr int columns_per_lane = static_cast<int>(adafactor_tile_columns) / 32;

__device__ __forceinline__ double square(float x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

struct Work {
  UpdateTable table;
  UpdateScalars scalars;
  AdafactorSettings settings;
  AdafactorMemory memory;
};

// A tile: a warp takes every eighth row, a lane every 32nd column.
struct Tile {
  AdafactorPart part;
  UpdateRange range;
  std::int64_t row_begin, row_end, column, column_end;  // column: the lane's first

  __device__ Tile(const Work& work, std::int64_t t) {
    const AdafactorTile tile = work.memory.tiles[t];
    part = work.memory.parts[tile.part];
    range = work.table.ranges[part.range];
    row_begin = tile.row * adafactor_tile_rows;
    row_end = row_begin + adafactor_tile_rows < part.rows ? row_begin + adafactor_tile_rows
                                                          : part.rows;
    column = tile.column * adafactor_tile_columns + threadIdx.x % 32;
    column_end = (tile.column + 1) * adafactor_tile_columns < part.columns
                     ? (tile.column + 1) * adafactor_tile_columns
                     : part.columns;
  }
  // Of the range; -1: the element is elsewhere.
  __device__ std::int64_t place(std::int64_t row, std::int64_t c) const {
    return adafactor_place(part, row, c);
  }
  // The same for all threads.
  __device__ bool has_any() const {
    const std::int64_t lane = threadIdx.x % 32;
    return adafactor_has_any(part, row_begin, row_end, column - lane, column_end);
  }
  __device__ float* state(int which) const { return static_cast<float*>(range.states[which]); }
};

// What a gradient of the tile is multiplied by, before it is clipped.
struct Factors {
  float row_mean;
  float columns[columns_per_lane];
  const float* rows;  // null: a vector's

  __device__ Factors(const Tile& tile, const Work& work, std::int64_t t) {
    const bool vector = tile.part.is_vector;
    row_mean = vector ? 1.0f : work.memory.row_means[work.memory.tiles[t].part];
    rows = vector ? nullptr : tile.state(AdafactorState::row) + tile.part.first_row;
    const float* const of = vector ? tile.state(AdafactorState::second)
                                   : tile.state(AdafactorState::column) + tile.part.first_column;
#pragma unroll
    for (int j = 0; j < columns_per_lane; ++j) {
      const std::int64_t c = tile.column + 32 * j;
      columns[j] = c < tile.column_end ? adafactor_root(of[c]) : 0.0f;
    }
  }
  __device__ float row(std::int64_t r) const {
    return rows ? adafactor_row_factor(rows[r], row_mean) : 1.0f;
  }
};

__device__ AdafactorStep shared_step(const Work& work) {
  __shared__ AdafactorStep shared;
  if (threadIdx.x == 0) shared = adafactor_step(work.scalars, work.settings);
  __syncthreads();
  return shared;
}

template <class Weights>
__global__ void __launch_bounds__(threads) adafactor_sums_kernel(Work work) {
  __shared__ float of_warps[warps][adafactor_tile_columns];
  __shared__ double doubles[warps];
  const AdafactorStep step = shared_step(work);
  if (!step.finite) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (std::int64_t t = blockIdx.x; t < work.memory.tile_count; t += gridDim.x) {
    const Tile tile(work, t);
    const Weights weights(tile.range, work.scalars);
    float columns[columns_per_lane] = {};
    double weights2 = 0;
    for (std::int64_t row = tile.row_begin + warp; row < tile.row_end; row += warps) {
      float squared[columns_per_lane] = {};
#pragma unroll
      for (int j = 0; j < columns_per_lane; ++j) {
        const std::int64_t c = tile.column + 32 * j;
        if (c >= tile.column_end) continue;
        const std::int64_t i = tile.place(row, c);
        if (i < 0) continue;
        squared[j] = adafactor_squared(step, tile.range.gradient[i]);
        columns[j] = sum(columns[j], squared[j]);
        if (work.settings.scale_parameter) weights2 += square(weights.load(i));
        if (tile.part.is_vector && !work.memory.moments) {
          float* const second = tile.state(AdafactorState::second) + c;
          *second = adafactor_moved(step, *second, squared[j]);
        }
      }
      if (tile.part.is_vector && !work.memory.moments) continue;
      float total = sum(sum(squared[0], squared[1]), sum(squared[2], squared[3]));
      for (int offset = 16; offset > 0; offset /= 2)
        total = sum(total, __shfl_down_sync(0xffffffffu, total, offset));
      if (lane == 0)
        work.memory
            .row_sums[tile.part.row_sums + work.memory.tiles[t].column * tile.part.rows + row] =
            total;
    }
    if (!tile.part.is_vector || work.memory.moments) {
#pragma unroll
      for (int j = 0; j < columns_per_lane; ++j) of_warps[warp][lane + 32 * j] = columns[j];
      __syncthreads();
      const std::int64_t c = tile.column - lane + threadIdx.x;
      if (threadIdx.x < adafactor_tile_columns && c < tile.column_end) {
        float total = of_warps[0][threadIdx.x];
        for (int w = 1; w < warps; ++w) total = sum(total, of_warps[w][threadIdx.x]);
        work.memory
            .column_sums[tile.part.column_sums + work.memory.tiles[t].row * tile.part.columns + c] =
            total;
      }
    }
    if (work.settings.scale_parameter) {
      weights2 = block_sum(weights2, doubles);
      if (threadIdx.x == 0) work.memory.weights2[t] = weights2;
    }
    __syncthreads();  // of_warps may be written again
  }
}

// A thread for each row and column. Of parts of tensors their own sums, for other ranks' to be
// added; or what the states become, of parts by the sums of all.
template <bool only_sums>
__global__ void __launch_bounds__(threads) adafactor_means_kernel(Work work) {
  const AdafactorStep step = shared_step(work);
  if (!step.finite) return;
  for (std::int64_t l = blockIdx.x; l < work.memory.line_count; l += gridDim.x) {
    const AdafactorPart p = work.memory.parts[work.memory.lines[l].part];
    const std::int64_t i = work.memory.lines[l].index * std::int64_t{256} + threadIdx.x;
    if (i >= p.rows + p.columns) continue;
    const bool is_row = i < p.rows;
    if (p.is_vector && is_row) continue;
    const std::int64_t at = is_row ? i : i - p.rows, length = is_row ? p.rows : p.columns,
                       across = is_row ? p.columns : p.rows,
                       tile = is_row ? adafactor_tile_columns : adafactor_tile_rows;
    const float* const sums = is_row ? work.memory.row_sums + p.row_sums
                                     : work.memory.column_sums + p.column_sums;
    double* const of_all = work.memory.moments
                               ? work.memory.moments[p.range] +
                                     (is_row ? p.sums_of_rows : p.sums_of_columns) + at
                               : nullptr;
    double total = 0;
    if (!only_sums && of_all)
      total = *of_all;
    else if (!p.is_in_parts || p.places.elements > 0)
      for (std::int64_t k = 0; k * tile < across; ++k) total += sums[k * length + at];
    if constexpr (only_sums) {
      *of_all = total;
      continue;
    }
    const int which = p.is_vector ? AdafactorState::second
                      : is_row    ? AdafactorState::row
                                  : AdafactorState::column;
    float* const state = static_cast<float*>(work.table.ranges[p.range].states[which]) +
                         (is_row ? p.first_row : p.first_column) + at;
    *state = adafactor_moved(step, *state, static_cast<float>(total / static_cast<double>(across)));
  }
}

// A block for each part.
__global__ void __launch_bounds__(threads) adafactor_row_mean_kernel(Work work) {
  __shared__ double doubles[warps];
  const AdafactorPart p = work.memory.parts[blockIdx.x];
  if (p.is_vector) return;
  const float* const rows =
      static_cast<const float*>(work.table.ranges[p.range].states[AdafactorState::row]) +
      p.first_row;
  double total = 0;
  for (std::int64_t i = threadIdx.x; i < p.rows; i += threads) total += rows[i];
  total = block_sum(total, doubles);
  if (threadIdx.x == 0)
    work.memory.row_means[blockIdx.x] = static_cast<float>(total / static_cast<double>(p.rows));
}

__global__ void __launch_bounds__(threads) adafactor_directions_kernel(Work work) {
  __shared__ double doubles[warps];
  const AdafactorStep step = shared_step(work);
  if (!step.finite) return;
  for (std::int64_t t = blockIdx.x; t < work.memory.tile_count; t += gridDim.x) {
    const Tile tile(work, t);
    if (!tile.has_any()) {
      if (threadIdx.x == 0) work.memory.directions2[t] = 0;
      continue;
    }
    const Factors factors(tile, work, t);
    double directions2 = 0;
    for (std::int64_t row = tile.row_begin + threadIdx.x / 32; row < tile.row_end; row += warps) {
      const float row_factor = factors.row(row);
#pragma unroll
      for (int j = 0; j < columns_per_lane; ++j) {
        const std::int64_t c = tile.column + 32 * j;
        const std::int64_t i = tile.place(row, c);
        if (c < tile.column_end && i >= 0)
          directions2 += square(adafactor_direction(step, product(row_factor, factors.columns[j]),
                                                    tile.range.gradient[i]));
      }
    }
    directions2 = block_sum(directions2, doubles);
    if (threadIdx.x == 0) work.memory.directions2[t] = directions2;
  }
}

// A block for each range.
__global__ void __launch_bounds__(threads) adafactor_step_kernel(Work work) {
  __shared__ double doubles[warps];
  const AdafactorStep step = shared_step(work);
  const std::int64_t first = work.memory.first_tiles[blockIdx.x],
                     last = work.memory.first_tiles[blockIdx.x + 1];
  double weights2 = 0, directions2 = 0;
  for (std::int64_t t = first + threadIdx.x; t < last; t += threads) {
    if (work.settings.scale_parameter) weights2 += work.memory.weights2[t];
    directions2 += work.memory.directions2[t];
  }
  weights2 = block_sum(weights2, doubles);
  directions2 = block_sum(directions2, doubles);
  if (threadIdx.x != 0) return;
  if (work.memory.moments) {
    weights2 = work.memory.moments[blockIdx.x][0];
    directions2 = work.memory.lengths[blockIdx.x][0];
  }
  work.memory.steps[blockIdx.x] =
      adafactor_step_size(step, work.settings, weights2, work.memory.elements[blockIdx.x]);
  work.memory.clips[blockIdx.x] =
      adafactor_clip(work.settings, directions2, work.memory.elements[blockIdx.x]);
}

// A block for each range, of parts of tensors: the sums of their tiles.
__global__ void __launch_bounds__(threads)
    adafactor_part_sums_kernel(AdafactorMemory memory, const double* of_tiles,
                               double* const* sums) {
  __shared__ double doubles[warps];
  double total = 0;
  for (std::int64_t t = memory.first_tiles[blockIdx.x] + threadIdx.x;
       t < memory.first_tiles[blockIdx.x + 1]; t += threads)
    total += of_tiles[t];
  total = block_sum(total, doubles);
  if (threadIdx.x == 0) sums[blockIdx.x][0] = total;
}

template <class Weights>
__global__ void __launch_bounds__(threads) adafactor_apply_kernel(Work work) {
  const AdafactorStep step = shared_step(work);
  if (!step.finite) return;
  for (std::int64_t t = blockIdx.x; t < work.memory.tile_count; t += gridDim.x) {
    const Tile tile(work, t);
    if (!tile.has_any()) continue;
    const Factors factors(tile, work, t);
    const Weights weights(tile.range, work.scalars);
    const float step_size = work.memory.steps[tile.part.range],
                clip = work.memory.clips[tile.part.range];
    const float decay = tile.range.decays
                            ? product(static_cast<float>(work.settings.weight_decay), step_size)
                            : 0.0f;
    float* const first = work.settings.has_beta1 ? tile.state(AdafactorState::first) : nullptr;
    for (std::int64_t row = tile.row_begin + threadIdx.x / 32; row < tile.row_end; row += warps) {
      const float row_factor = factors.row(row);
#pragma unroll
      for (int j = 0; j < columns_per_lane; ++j) {
        const std::int64_t c = tile.column + 32 * j;
        if (c >= tile.column_end) continue;
        const std::int64_t i = tile.place(row, c);
        if (i < 0) continue;
        const float direction = adafactor_direction(step, product(row_factor, factors.columns[j]),
                                                    tile.range.gradient[i]);
        weights.store(i, adafactor_weight(step, direction, step_size, clip, decay, weights.load(i),
                                          first ? first + i : nullptr));
      }
    }
  }
}

}  // namespace

cudaError_t adafactor_measure(int round, const UpdateTable& table, WeightKind kind,
                              const UpdateScalars& scalars, const AdafactorSettings& settings,
                              const AdafactorMemory& memory, cudaStream_t stream) {
  const Work work{table, scalars, settings, memory};
  const auto ranges = static_cast<unsigned>(memory.ranges);
  unsigned of_tiles = 0, of_lines = 0;
  if (const cudaError_t error = blocks_for(memory.tile_count, blocks_per_multiprocessor, of_tiles);
      error != cudaSuccess)
    return error;
  if (const cudaError_t error = blocks_for(memory.line_count, blocks_per_multiprocessor, of_lines);
      error != cudaSuccess)
    return error;
  if (round == 1) {  // tensors without a part here have states, and no tiles
    adafactor_means_kernel<false><<<of_lines, threads, 0, stream>>>(work);
    adafactor_row_mean_kernel<<<static_cast<unsigned>(memory.part_count), threads, 0, stream>>>(
        work);
    if (of_tiles > 0) adafactor_directions_kernel<<<of_tiles, threads, 0, stream>>>(work);
    adafactor_part_sums_kernel<<<ranges, threads, 0, stream>>>(memory, memory.directions2,
                                                               memory.lengths);
    return cudaGetLastError();
  }
  return with_weight_type(kind, [&](auto type) {
    using Weights = typename decltype(type)::Type;
    if (of_tiles > 0) adafactor_sums_kernel<Weights><<<of_tiles, threads, 0, stream>>>(work);
    adafactor_means_kernel<true><<<of_lines, threads, 0, stream>>>(work);
    if (settings.scale_parameter)
      adafactor_part_sums_kernel<<<ranges, threads, 0, stream>>>(memory, memory.weights2,
                                                                 memory.moments);
    return cudaGetLastError();
  });
}

cudaError_t adafactor(const UpdateTable& table, WeightKind kind, const UpdateScalars& scalars,
                      const AdafactorSettings& settings, const AdafactorMemory& memory,
                      cudaStream_t stream) {
  if (memory.tile_count == 0) return cudaSuccess;
  const Work work{table, scalars, settings, memory};
  unsigned of_tiles = 0, of_lines = 0;
  if (const cudaError_t error = blocks_for(memory.tile_count, blocks_per_multiprocessor, of_tiles);
      error != cudaSuccess)
    return error;
  if (const cudaError_t error = blocks_for(memory.line_count, blocks_per_multiprocessor, of_lines);
      error != cudaSuccess)
    return error;
  return with_weight_type(kind, [&](auto type) {
    using Weights = typename decltype(type)::Type;
    // of whole tensors; of parts it was done by adafactor_measure
    if (!memory.moments) {
      adafactor_sums_kernel<Weights><<<of_tiles, threads, 0, stream>>>(work);
      if (of_lines > 0) adafactor_means_kernel<false><<<of_lines, threads, 0, stream>>>(work);
      adafactor_row_mean_kernel<<<static_cast<unsigned>(memory.part_count), threads, 0, stream>>>(
          work);
      adafactor_directions_kernel<<<of_tiles, threads, 0, stream>>>(work);
    } else {
      adafactor_row_mean_kernel<<<static_cast<unsigned>(memory.part_count), threads, 0, stream>>>(
          work);
    }
    adafactor_step_kernel<<<static_cast<unsigned>(memory.ranges), threads, 0, stream>>>(work);
    adafactor_apply_kernel<Weights><<<of_tiles, threads, 0, stream>>>(work);
    return cudaGetLastError();
  });
}

}  // namespace trainx::kernels
