// Backward of norms of heads, and how its memory is cut. Each file in head_norm_backward/
// instantiates it for an element type: all of them in one file took more than a minute to compile.
#pragma once
#include <algorithm>
#include "kernels/fold.cuh"
#include "kernels/launch.hpp"
#include "kernels/norm/head_norm.hpp"
#include "kernels/norm/head_row.cuh"

namespace trainx::kernels {
// Internal linkage: with external linkage the compiler lays out shared memory differently.
namespace {

// Blocks stay for the whole launch and keep the column sums of their rows in registers. At the end
// they fold them in two levels, `fan` blocks at a time; the last one adds up the groups that share
// a weight.
constexpr int fan = 24;
constexpr std::int64_t most_blocks = fan * fan;
// Partial sums take at most this much: there are fewer blocks if rows are wide.
constexpr std::int64_t most_partial_bytes = std::int64_t{48} << 20;

std::int64_t vector_bytes(const HeadNormShape& s, bool biased) {
  return (biased ? 2 : 1) * ((s.normed_columns() + 3) / 4 * 4) *
         static_cast<std::int64_t>(sizeof(float));
}
std::int64_t blocks_at_most(const HeadNormShape& s, bool biased) {
  return std::clamp<std::int64_t>(most_partial_bytes / vector_bytes(s, biased) - fan - 1, 1,
                                  most_blocks);
}

template <class T>
__device__ void put_weights(const HeadNormBackward<T>& op, const HeadSlots& h, const float* totals,
                            int pitch, int vectors) {
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int columns = h.groups[part] * h.size[part], first = part * h.groups[0] * h.size[0],
              width = op.shape.by_column[part] ? columns : h.size[part];
    for (int k = 0; k < vectors; ++k) {
      float* const to = k == 0 ? op.d_weight[part] : op.d_bias[part];
      if (!to) continue;
      for (int w = static_cast<int>(threadIdx.x); w < width; w += static_cast<int>(blockDim.x)) {
        float total = 0;
        // written by this block just now, which the L1 cache need not know
        for (int c = w; c < columns; c += width) total += __ldcg(totals + k * pitch + first + c);
        to[w] = op.accumulate ? to[w] + total : total;
      }
    }
  }
}

template <class T, class Block, bool wide, bool biased, bool aligned>
__global__ void __launch_bounds__(Block::threads)
    head_norm_backward_kernel(HeadNormBackward<T> op, HeadSlots h, float weight_offset, bool sums,
                              FoldMemory memory) {
  constexpr int vectors = Block::vectors;
  __shared__ float shared[Block::template shared_floats<2>];
  int turn = 0;
  const bool rms = op.shape.rms;
  HeadSlot slots[vectors];
  Eight<T> weights[vectors];
  bool weighted[vectors];
  float weight_sums[vectors][8] = {}, bias_sums[biased ? vectors : 1][8] = {};
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    slots[v] = head_slot(h, Block::slot(v));
    const HeadSlot& s = slots[v];
    const T* const weight = s.part == 0 ? op.weight[0] : op.weight[1];
    const bool by_column = s.part == 0 ? op.shape.by_column[0] : op.shape.by_column[1];
    weighted[v] = weight != nullptr;
    weights[v] =
        load8<aligned>(weight + (by_column ? s.of_part : s.of_group), weighted[v] ? s.count : 0);
  }
  // g = dy * weight and z = (x - mean) * rstd, of a piece
  const auto terms = [&](int v, const Eight<T>& dy, const Eight<T>& x, float mean, float rstd,
                         float(&d)[8], float(&g)[8], float(&z)[8]) {
    widen8(weights[v], g);
    widen8(dy, d);
    widen8(x, z);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      g[j] = weighted[v] ? d[j] * (g[j] + weight_offset) : d[j];
      // behind the group's end there is nothing
      z[j] = aligned || j < slots[v].count ? (z[j] - mean) * rstd : 0;
    }
  };
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * Block::rows; first < h.rows;
       first += static_cast<std::int64_t>(gridDim.x) * Block::rows) {
    const std::int64_t row = first + Block::row_of_block(), at = row * h.columns;
    const bool live = row < h.rows;
    Eight<T> dy[vectors], x[vectors];
    float mean[vectors], rstd[vectors], totals[vectors][2];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const int count = live ? slots[v].count : 0;
      dy[v] = load8<aligned>(op.dy + at + slots[v].column, count);
      x[v] = load8<aligned>(op.x + at + slots[v].column, count);
      const std::int64_t statistic = row * (h.groups[0] + h.groups[1]) + slots[v].group;
      mean[v] = count > 0 && op.mean ? op.mean[statistic] : 0;
      rstd[v] = count > 0 ? op.rstd[statistic] : 0;
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float d[8], g[8], z[8];
      terms(v, dy[v], x[v], mean[v], rstd[v], d, g, z);
      totals[v][0] = totals[v][1] = 0;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        totals[v][0] += g[j];
        totals[v][1] += g[j] * z[j];
      }
    }
    Block::template sum<wide>(totals, h, slots, shared, turn);
    if (!live) continue;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      if (slots[v].count <= 0) continue;
      const auto size = static_cast<float>(h.size_of(slots[v].part));
      const float average = rms ? 0 : totals[v][0] / size, slope = totals[v][1] / size;
      float d[8], g[8], z[8];
      terms(v, dy[v], x[v], mean[v], rstd[v], d, g, z);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        weight_sums[v][j] += d[j] * z[j];
        if constexpr (biased) bias_sums[v][j] += d[j];
        g[j] = rstd[v] * (g[j] - average - z[j] * slope);
      }
      Eight<T> rounded;
      narrow8(g, rounded);
      store8<aligned>(op.dx + at + slots[v].column, rounded, slots[v].count);
    }
    if (op.dx != op.dy) copy_values<aligned, Block>(op.dx + at, op.dy + at, h);
  }
  if (!sums) return;

  constexpr int count = biased ? 2 : 1;
  const int pitch = (h.normed_columns + 3) / 4 * 4, length = count * pitch, length4 = length / 4;
  auto* const of_blocks = reinterpret_cast<float4*>(memory.partial);  // [blocks][length4]
  float* const mine = memory.partial + static_cast<std::int64_t>(blockIdx.x) * length;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if constexpr (Block::rows > 1) {
      // of the block's rows, in order; they have one piece a thread
      __shared__ float of_rows[Block::rows > 1 ? 8 * Block::threads : 1];
      __syncthreads();
#pragma unroll
      for (int j = 0; j < 8; ++j)
        of_rows[j * Block::threads + threadIdx.x] = k == 0 ? weight_sums[0][j] : bias_sums[0][j];
      __syncthreads();
      float all[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        all[j] = 0;
        for (int r = 0; r < Block::rows; ++r)
          all[j] += of_rows[j * Block::threads + r * Block::width + Block::slot(0)];
      }
      if (Block::row_of_block() == 0)
        put_sums8(mine + k * pitch + slots[0].column, all, slots[0].count, false);
    } else {
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        put_sums8(mine + k * pitch + slots[v].column,
                  k == 0 ? weight_sums[v] : bias_sums[biased ? v : 0], slots[v].count, false);
    }
  }
  const int blocks = static_cast<int>(gridDim.x), groups = (blocks + fan - 1) / fan,
            group = static_cast<int>(blockIdx.x) / fan;
  const int members = blocks - group * fan < fan ? blocks - group * fan : fan;
  if (!last_to_arrive(memory.counters + 1 + group, static_cast<std::uint32_t>(members))) return;
  float4* const of_groups = of_blocks + static_cast<std::int64_t>(blocks) * length4;
  for (int i = static_cast<int>(threadIdx.x); i < length4; i += Block::threads)
    of_groups[static_cast<std::int64_t>(group) * length4 + i] = add_members<fan>(
        of_blocks + static_cast<std::int64_t>(group) * fan * length4, length4, members, i);
  if (!last_to_arrive(memory.counters, static_cast<std::uint32_t>(groups))) return;
  float4* const of_all = of_groups + static_cast<std::int64_t>(groups) * length4;
  for (int i = static_cast<int>(threadIdx.x); i < length4; i += Block::threads)
    of_all[i] = add_members<fan>(of_groups, length4, groups, i);
  __syncthreads();
  put_weights(op, h, reinterpret_cast<const float*>(of_all), pitch, count);
}

template <class T, class Block, bool wide, bool biased, bool aligned>
cudaError_t launch(const HeadNormBackward<T>& op, const HeadSlots& h, bool sums,
                   const FoldMemory& memory, cudaStream_t stream) {
  unsigned blocks = 0;
  const std::int64_t work = std::max<std::int64_t>(1, (h.rows + Block::rows - 1) / Block::rows);
  if (const cudaError_t error = blocks_for(work, Block::vectors == 1 ? 4 : 2, blocks);
      error != cudaSuccess)
    return error;
  blocks = static_cast<unsigned>(std::min<std::int64_t>(blocks, blocks_at_most(op.shape, biased)));
  head_norm_backward_kernel<T, Block, wide, biased, aligned><<<blocks, Block::threads, 0, stream>>>(
      op, h, static_cast<float>(op.shape.weight_offset), sums, memory);
  return cudaGetLastError();
}

template <class T, bool biased>
cudaError_t launch_by_width(const HeadNormBackward<T>& op, bool sums, const FoldMemory& memory,
                            cudaStream_t stream) {
  const HeadNormShape& s = op.shape;
  const HeadSlots h = slots_of(s);
  const bool aligned = eights(s) && aligned16(op.x) && aligned16(op.dy) && aligned16(op.dx) &&
                       aligned16(op.weight[0]) && aligned16(op.weight[1]);
  return with_head_block(h, aligned, [&](auto block, auto wide, auto whole_pieces) {
    return launch<T, decltype(block), decltype(wide)::value, biased, decltype(whole_pieces)::value>(
        op, h, sums, memory, stream);
  });
}

}  // namespace

template <class T>
cudaError_t head_norm_backward(const HeadNormBackward<T>& op, const FoldMemory& memory,
                               cudaStream_t stream) {
  if (op.shape.normed_columns() > 8 * most_head_slots) return cudaErrorInvalidValue;
  const bool biased = op.d_bias[0] || op.d_bias[1],
             sums = biased || op.d_weight[0] || op.d_weight[1];
  if (op.shape.rows == 0 && !sums) return cudaSuccess;
  return biased ? launch_by_width<T, true>(op, sums, memory, stream)
                : launch_by_width<T, false>(op, sums, memory, stream);
}

}  // namespace trainx::kernels
