#include "kernels/launch.hpp"
#include "kernels/norm/head_norm.hpp"
#include "kernels/norm/head_row.cuh"

namespace trainx::kernels {
namespace {

template <class T, class Block, bool wide, bool aligned>
__global__ void __launch_bounds__(Block::threads)
    head_norm_kernel(HeadNorm<T> op, HeadSlots h, float epsilon, float weight_offset) {
  constexpr int vectors = Block::vectors;
  __shared__ float shared[Block::template shared_floats<1>];
  int turn = 0;
  const bool rms = op.shape.rms;
  HeadSlot slots[vectors];
#pragma unroll
  for (int v = 0; v < vectors; ++v) slots[v] = head_slot(h, Block::slot(v));
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * Block::rows; first < h.rows;
       first += static_cast<std::int64_t>(gridDim.x) * Block::rows) {
    const std::int64_t row = first + Block::row_of_block(), at = row * h.columns;
    const bool live = row < h.rows;
    Eight<T> pieces[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      pieces[v] = load8<aligned>(op.x + at + slots[v].column, live ? slots[v].count : 0);
    float mean[vectors] = {}, sums[vectors][1];
    if (!rms) {
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        float x[8];
        widen8(pieces[v], x);
        sums[v][0] = 0;
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[v][0] += x[j];
      }
      Block::template sum<wide>(sums, h, slots, shared, turn);
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        mean[v] = sums[v][0] / static_cast<float>(h.size_of(slots[v].part));
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float x[8];
      widen8(pieces[v], x);
      sums[v][0] = 0;
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (j < slots[v].count) sums[v][0] += (x[j] - mean[v]) * (x[j] - mean[v]);
    }
    Block::template sum<wide>(sums, h, slots, shared, turn);
    if (!live) continue;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const HeadSlot& s = slots[v];
      if (s.count <= 0) continue;
      const float rstd = 1 / sqrtf(sums[v][0] / static_cast<float>(h.size_of(s.part)) + epsilon);
      if (s.of_group == 0) {
        const std::int64_t statistic = row * (h.groups[0] + h.groups[1]) + s.group;
        if (op.mean) op.mean[statistic] = mean[v];
        if (op.rstd) op.rstd[statistic] = rstd;
      }
      if (!op.y) continue;
      float x[8], of_columns[8];
      widen8(pieces[v], x);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = (x[j] - mean[v]) * rstd;
      const T* const weight = s.part == 0 ? op.weight[0] : op.weight[1];
      const T* const bias = s.part == 0 ? op.bias[0] : op.bias[1];
      const bool by_column = s.part == 0 ? op.shape.by_column[0] : op.shape.by_column[1];
      const int of_weight = by_column ? s.of_part : s.of_group;
      if (weight) {
        widen8(load8<aligned>(weight + of_weight, s.count), of_columns);
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] *= of_columns[j] + weight_offset;
      }
      if (bias) {
        widen8(load8<aligned>(bias + of_weight, s.count), of_columns);
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] += of_columns[j];
      }
      Eight<T> rounded;
      narrow8(x, rounded);
      store8<aligned>(op.y + at + s.column, rounded, s.count);
    }
    if (op.y && op.y != op.x) copy_values<aligned, Block>(op.y + at, op.x + at, h);
  }
}

template <class T, class Block, bool wide, bool aligned>
cudaError_t launch(const HeadNorm<T>& op, const HeadSlots& h, cudaStream_t stream) {
  unsigned blocks = 0;
  if (const cudaError_t error =
          blocks_for((h.rows + Block::rows - 1) / Block::rows, 2048 / Block::threads, blocks);
      error != cudaSuccess)
    return error;
  head_norm_kernel<T, Block, wide, aligned><<<blocks, Block::threads, 0, stream>>>(
      op, h, static_cast<float>(op.shape.epsilon), static_cast<float>(op.shape.weight_offset));
  return cudaGetLastError();
}

}  // namespace

template <class T>
cudaError_t head_norm(const HeadNorm<T>& op, cudaStream_t stream) {
  const HeadNormShape& s = op.shape;
  if (s.rows == 0) return cudaSuccess;
  if (s.normed_columns() > 8 * most_head_slots) return cudaErrorInvalidValue;
  const HeadSlots h = slots_of(s);
  const bool aligned = eights(s) && aligned16(op.x) && aligned16(op.y) && aligned16(op.weight[0]) &&
                       aligned16(op.weight[1]) && aligned16(op.bias[0]) && aligned16(op.bias[1]);
  return with_head_block(h, aligned, [&](auto block, auto wide, auto whole_pieces) {
    return launch<T, decltype(block), decltype(wide)::value, decltype(whole_pieces)::value>(op, h,
                                                                                            stream);
  });
}

template cudaError_t head_norm(const HeadNorm<float>&, cudaStream_t);
template cudaError_t head_norm(const HeadNorm<Bf16>&, cudaStream_t);
template cudaError_t head_norm(const HeadNorm<Fp16>&, cudaStream_t);

}  // namespace trainx::kernels
