// Backward of norms. The kernel has up to 23 cuts (layer_norm_backward_tiles.hpp) for each element
// type and each Known; all of them in one file took minutes to compile. So layer_norm_backward.cu
// only sees their launches, in layer_norm_backward_launch.cuh, and each file of
// layer_norm_backward/ instantiates one (`template struct NormBackwardBlocks<float,
// Known::rms_norm>;`).
#pragma once
#include <algorithm>
#include "kernels/copy_async.cuh"
#include "kernels/fold.cuh"
#include "kernels/launch.hpp"
#include "kernels/norm/layer_norm_backward_launch.cuh"
#include "kernels/norm/layer_norm_backward_tiles.hpp"
#include "kernels/norm/row_group.cuh"

namespace trainx::kernels {

// Blocks stay for the whole launch, one a multiprocessor, and keep the column sums of their rows in
// registers. Rows are copied into shared memory some turns ahead: a thread reads what it has copied
// itself, so its copies need no barrier and hold no registers.
template <class T, int operands, class Group>
struct Stages {
  // of one stage
  static constexpr int bytes = operands * Group::vectors * Eight<T>::words * Group::threads * 16;
  __device__ static uint4* at(uint4* shared, int stage, int operand, int v, int word) {
    return shared +
           ((((stage * operands + operand) * Group::vectors + v) * Eight<T>::words + word) *
                Group::threads +
            static_cast<int>(threadIdx.x));
  }
};

// stages > 0: rows come through shared memory; all pointers are aligned. 0: element by element.
// at_once: NormTiles::folded.
template <class T, class Group, int stages, int at_once, Known known>
__global__ void __launch_bounds__(Group::threads, 1)
    layer_norm_backward_kernel(LayerNormBackward<T> op, DropoutFactors dropout, NormFactors form,
                               float4* of_blocks) {  // [blocks][length4 of NormSums]
  constexpr bool aligned = stages > 0;
  constexpr bool plain = known == Known::layer_norm, rms = known == Known::rms_norm;
  constexpr int vectors = Group::vectors;
  using Stage = Stages<T, 3, Group>;
  extern __shared__ uint4 shared[];
  __shared__ float row_sums[4 * Group::warps];
  int turn = 0;
  const int columns = static_cast<int>(op.columns);
  const auto n = static_cast<float>(columns);
  const bool norms = plain || rms || op.d_normed;
  const T* const sources[3] = {op.d_normed, norms ? op.x : nullptr, op.d_residual};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * Group::rows_per_block;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * Group::rows_per_block +
                             Group::row_of_block();
  const std::int64_t turns = (op.rows + step - 1) / step;

  Eight<T> gamma[vectors];
  float gamma_sums[vectors][8] = {}, beta_sums[vectors][8] = {}, bias_sums[vectors][8] = {};
  const bool weighted = plain || rms || (norms && op.gamma);
#pragma unroll
  for (int v = 0; v < vectors; ++v)
    gamma[v] =
        load8<aligned>(op.gamma + Group::column(v), weighted ? columns - Group::column(v) : 0);
  const auto weight_of = [&](int v, float(&weight)[8]) {
    widen8(gamma[v], weight);
    if constexpr (!plain) {
#pragma unroll
      for (int j = 0; j < 8; ++j) weight[j] = weighted ? weight[j] + form.weight_offset : 1;
    }
  };
  const auto mean_of = [&](std::int64_t row) {
    return plain || (!rms && norms && op.mean) ? op.mean[row] : 0;
  };
  const auto rstd_of = [&](std::int64_t row) { return norms ? op.rstd[row] : 0; };

  const auto begin_copies = [&](int stage, std::int64_t row) {
    if (row < op.rows) {
#pragma unroll
      for (int operand = 0; operand < 3; ++operand) {
        if ((operand == 2 || !plain) && !sources[operand]) continue;
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
          if (Group::column(v) >= columns) break;
          const auto* from =
              reinterpret_cast<const uint4*>(sources[operand] + row * columns + Group::column(v));
#pragma unroll
          for (int word = 0; word < Eight<T>::words; ++word)
            copy16_async(Stage::at(shared, stage, operand, v, word), from + word);
        }
      }
    }
    commit_copies();
  };
  const auto fetch = [&](int stage, int operand, int v, std::int64_t row, int wanted) {
    const int c = Group::column(v);
    if constexpr (aligned) {
      Eight<T> x;
#pragma unroll
      for (int word = 0; word < Eight<T>::words; ++word)
        x.at[word] = c < wanted ? *Stage::at(shared, stage, operand, v, word)
                                : make_uint4(0, 0, 0, 0);
      return x;
    } else {
      return load8<false>(sources[operand] + row * columns + c, wanted - c);
    }
  };

  for (int s = 0; s < stages; ++s) begin_copies(s, first + s * step);
  float next_mean = first < op.rows ? mean_of(first) : 0,
        next_rstd = first < op.rows ? rstd_of(first) : 0;
  int stage = 0;
  for (std::int64_t t = 0; t < turns; ++t) {
    const std::int64_t row = first + t * step, next = row + step;
    const bool live = row < op.rows;
    const int wanted = live ? columns : 0;
    const float mean = next_mean, rstd = next_rstd;
    if (next < op.rows) {
      next_mean = mean_of(next);
      next_rstd = rstd_of(next);
    }
    if constexpr (aligned) wait_for_copies<aligned ? stages - 1 : 0>();
    float sums[2] = {0, 0};  // of g, of g z
    if (norms) {
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        float dy[8], x[8], weight[8];
        widen8(fetch(stage, 0, v, row, wanted), dy);
        widen8(fetch(stage, 1, v, row, wanted), x);
        weight_of(v, weight);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float g = dy[j] * weight[j];
          if constexpr (!rms) sums[0] += g;
          if (aligned ? Group::column(v) < wanted : Group::column(v) + j < wanted)
            sums[1] += g * ((x[j] - mean) * rstd);
        }
      }
      Group::sum(sums, row_sums, turn);
    }
    // the row is fetched again rather than held: the column sums need the registers
    asm volatile("" ::: "memory");
    if (live) {
      const float average_g = rms || (!plain && form.rms) ? 0 : sums[0] / n,
                  average_gz = sums[1] / n;
      DropoutRow dropout_of_row{};
      if (dropout.on) dropout_of_row = dropout_row(dropout, row, columns);
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const int c = Group::column(v);
        if (c >= columns) break;
        float d[8] = {};
        if (op.d_residual) widen8(fetch(stage, 2, v, row, wanted), d);
        if (norms) {
          float dy[8], x[8], weight[8];
          widen8(fetch(stage, 0, v, row, wanted), dy);
          widen8(fetch(stage, 1, v, row, wanted), x);
          weight_of(v, weight);
#pragma unroll
          for (int j = 0; j < 8; ++j) {
            const float z = (x[j] - mean) * rstd;
            d[j] += rstd * (dy[j] * weight[j] - average_g - z * average_gz);
            if (aligned || c + j < columns) {
              gamma_sums[v][j] += dy[j] * z;
              if constexpr (!rms) beta_sums[v][j] += dy[j];
            }
          }
        }
        Eight<T> rounded;
        narrow8(d, rounded);
        store8<aligned>(op.dx + row * columns + c, rounded, columns - c);
        widen8(rounded, d);
        if (!rms && op.d_branch) {
          if (dropout.on) {
            float factors[8];
            factors8(dropout, dropout_of_row, c, factors);
#pragma unroll
            for (int j = 0; j < 8; ++j) d[j] = product(d[j], factors[j]);
          }
          if (!plain && form.branch_scale != 1) {
#pragma unroll
            for (int j = 0; j < 8; ++j) d[j] = product(d[j], form.branch_scale);
          }
          if (dropout.on || !plain) {
            narrow8(d, rounded);
            widen8(rounded, d);
          }
          store8<aligned>(op.d_branch + row * columns + c, rounded, columns - c);
        }
#pragma unroll
        for (int j = 0; j < 8; ++j)
          if (!rms && (aligned || c + j < columns)) bias_sums[v][j] += d[j];
      }
    }
    if constexpr (aligned) begin_copies(stage, row + stages * step);
    stage = stage + 1 < stages ? stage + 1 : 0;
  }

  // The sums of the block's rows, in pieces of four columns. Of a plain norm both of its parameters
  // have sums, of others those that are asked for.
  if constexpr (aligned) wait_for_copies<0>();
  const NormSums to(op, norms);
  const bool wanted_sums[3] = {to.d_gamma != nullptr, to.d_beta != nullptr, to.d_bias != nullptr};
  int place[3] = {0, 1, 2};  // among the vectors
  if constexpr (!plain) {
    place[1] = wanted_sums[0];
    place[2] = place[1] + wanted_sums[1];
  }
  const int vector_count = to.vectors, pitch4 = to.pitch4, length4 = to.length4();
  constexpr int capacity4 = Group::capacity / 4;
  // [at_once][rows_per_block][capacity4]
  auto* const in_block = reinterpret_cast<float4*>(shared);
  if constexpr (at_once == 0) {
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (!wanted_sums[k]) continue;
      float4* const row = of_blocks + static_cast<int>(blockIdx.x) * length4 + place[k] * pitch4;
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const float(&sums)[8] = k == 0 ? gamma_sums[v] : k == 1 ? beta_sums[v] : bias_sums[v];
        const int at = Group::column(v) / 4;
        if (at < pitch4) row[at] = make_float4(sums[0], sums[1], sums[2], sums[3]);
        if (at + 1 < pitch4) row[at + 1] = make_float4(sums[4], sums[5], sums[6], sums[7]);
      }
    }
  }
  for (int begin = 0; at_once > 0 && begin < vector_count; begin += at_once) {
    const int end = begin + at_once < vector_count ? begin + at_once : vector_count;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if ((!plain && !wanted_sums[k]) || place[k] < begin || place[k] >= end) continue;
      float4* const row = in_block +
                          ((place[k] - begin) * Group::rows_per_block + Group::row_of_block()) *
                              capacity4;
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const float(&sums)[8] = k == 0 ? gamma_sums[v] : k == 1 ? beta_sums[v] : bias_sums[v];
        row[Group::column(v) / 4] = make_float4(sums[0], sums[1], sums[2], sums[3]);
        row[Group::column(v) / 4 + 1] = make_float4(sums[4], sums[5], sums[6], sums[7]);
      }
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < (end - begin) * pitch4; i += Group::threads) {
      const float4* const column = in_block + i / pitch4 * Group::rows_per_block * capacity4 +
                                   i % pitch4;
      float4 total = column[0];
#pragma unroll
      for (int r = 1; r < Group::rows_per_block; ++r) add4(total, column[r * capacity4]);
      of_blocks[static_cast<int>(blockIdx.x) * length4 + begin * pitch4 + i] = total;
    }
  }
}

template <Known known, class Tiles, class T>
cudaError_t launch_norm_tiles(const LayerNormBackward<T>& op, const NormFactors& form,
                              const DropoutFactors& dropout, const FoldMemory& memory,
                              unsigned& blocks, cudaStream_t stream) {
  using Group = RowGroup<Tiles::vectors, Tiles::group, Tiles::warps>;
  constexpr int bytes = Tiles::shared_bytes(sizeof(T));
  static_assert(Tiles::stages * Stages<T, 3, Group>::bytes <= bytes);
  const auto kernel = layer_norm_backward_kernel<T, Group, Tiles::stages, Tiles::folded, known>;
  if (const cudaError_t error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      error != cudaSuccess)
    return error;
  const std::int64_t work =
      std::max<std::int64_t>(1, (op.rows + Group::rows_per_block - 1) / Group::rows_per_block);
  if (const cudaError_t error = blocks_for(work, 1, blocks); error != cudaSuccess) return error;
  blocks = std::min<unsigned>(blocks, most_norm_blocks);
  kernel<<<blocks, Group::threads, bytes, stream>>>(op, dropout, form,
                                                    reinterpret_cast<float4*>(memory.partial));
  return cudaGetLastError();
}

template <class T, Known known>
cudaError_t NormBackwardBlocks<T, known>::launch(const LayerNormBackward<T>& op,
                                                 const NormFactors& form,
                                                 const DropoutFactors& dropout,
                                                 const FoldMemory& memory, unsigned& blocks,
                                                 cudaStream_t stream) {
  const bool aligned = op.columns % 8 == 0 && aligned16(op.d_normed) && aligned16(op.x) &&
                       aligned16(op.gamma) && aligned16(op.d_residual) && aligned16(op.dx) &&
                       aligned16(op.d_branch);
  int shared_bytes = 0;
  if (const cudaError_t error = shared_memory_of_block(shared_bytes); error != cudaSuccess)
    return error;
  return with_norm_tiles<sizeof(T), known == Known::rms_norm>(
      op.columns, aligned, shared_bytes, [&](auto tiles) {
        return launch_norm_tiles<known, decltype(tiles)>(op, form, dropout, memory, blocks, stream);
      });
}

}  // namespace trainx::kernels
