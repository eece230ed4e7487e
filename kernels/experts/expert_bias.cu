#include "kernels/eight.cuh"
#include "kernels/experts/expert_bias.hpp"
#include "kernels/experts/grouped_search.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, tile_rows = 32;
// of a gradient's block: pieces of eight columns side by side, and strands of rows
constexpr int block_pieces = 8, strands = threads / block_pieces;
constexpr unsigned most_blocks_y = 65535;

/// Blocks (tile of rows, 256 pieces of columns). A thread reads its piece of the bias once.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads) expert_bias_kernel(ExpertBias<T> op) {
  const GroupedSizes& s = op.sizes;
  grouped::RowRange rows;
  if (!grouped::find_rows<tile_rows>(s.offsets, static_cast<int>(s.experts),
                                     static_cast<int>(blockIdx.x), rows))
    return;
  const std::int64_t c = 8 * (static_cast<std::int64_t>(blockIdx.y) * threads + threadIdx.x);
  if (c >= s.out) return;
  const int count = static_cast<int>(s.out - c < 8 ? s.out - c : 8);
  float bias[8];
  widen8(load8<aligned>(op.bias + rows.expert * s.out + c, count), bias);
  const int end = rows.first + tile_rows < rows.end ? rows.first + tile_rows : rows.end;
#pragma unroll 4
  for (int r = rows.first; r < end; ++r) {
    T* const to = op.y + r * s.out + c;
    Eight<T> y = load8<aligned>(to, count);
    float sum[8];
    widen8(y, sum);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[j] += bias[j];
    narrow8(sum, y);
    store8<aligned>(to, y, count);
  }
}

/// Blocks (64 columns, expert).
template <class T, bool aligned>
__global__ void __launch_bounds__(threads) expert_bias_gradient_kernel(ExpertBiasGradient<T> op) {
  __shared__ float shared[strands][8 * block_pieces];
  const GroupedSizes& s = op.sizes;
  const int piece = static_cast<int>(threadIdx.x) % block_pieces,
            strand = static_cast<int>(threadIdx.x) / block_pieces;
  const auto expert = static_cast<std::int64_t>(blockIdx.y);
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * 8 * block_pieces,
                     c = first_column + 8 * piece;
  const int count = static_cast<int>(s.out - c < 8 ? s.out - c : 8);  // may be negative
  const std::int64_t end = s.offsets[expert + 1];
  float sums[8] = {};
#pragma unroll 4
  for (std::int64_t r = s.offsets[expert] + strand; r < end; r += strands) {
    float d[8];
    widen8(load8<aligned>(op.dy + r * s.out + c, count), d);
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += d[j];
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) shared[strand][8 * piece + j] = sums[j];
  __syncthreads();
  const auto column = static_cast<int>(threadIdx.x);
  if (column >= 8 * block_pieces || first_column + column >= s.out) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < strands; ++k) sum += shared[k][column];
  float& to = op.d_bias[expert * s.out + first_column + column];
  to = op.accumulate ? to + sum : sum;
}

std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

}  // namespace

template <class T>
cudaError_t expert_bias(const ExpertBias<T>& op, cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (s.rows == 0 || s.out == 0) return cudaSuccess;
  const std::int64_t columns = divided_up(divided_up(s.out, 8), threads);
  if (columns > most_blocks_y) return cudaErrorInvalidValue;
  const dim3 blocks(static_cast<unsigned>(divided_up(s.rows, tile_rows) + s.experts),
                    static_cast<unsigned>(columns));
  if (s.out % 8 == 0 && aligned16(op.bias) && aligned16(op.y))
    expert_bias_kernel<T, true><<<blocks, threads, 0, stream>>>(op);
  else
    expert_bias_kernel<T, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

template <class T>
cudaError_t expert_bias_gradient(const ExpertBiasGradient<T>& op, cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (s.out == 0 || s.experts == 0 || (s.rows == 0 && op.accumulate)) return cudaSuccess;
  if (s.experts > most_blocks_y) return cudaErrorInvalidValue;
  const dim3 blocks(static_cast<unsigned>(divided_up(s.out, 8 * block_pieces)),
                    static_cast<unsigned>(s.experts));
  if (s.out % 8 == 0 && aligned16(op.dy))
    expert_bias_gradient_kernel<T, true><<<blocks, threads, 0, stream>>>(op);
  else
    expert_bias_gradient_kernel<T, false><<<blocks, threads, 0, stream>>>(op);
  return cudaGetLastError();
}

#define TRAINX_EXPERT_BIAS(T)                                           \
  template cudaError_t expert_bias(const ExpertBias<T>&, cudaStream_t); \
  template cudaError_t expert_bias_gradient(const ExpertBiasGradient<T>&, cudaStream_t);
TRAINX_EXPERT_BIAS(float)
TRAINX_EXPERT_BIAS(Bf16)
TRAINX_EXPERT_BIAS(Fp16)
#undef TRAINX_EXPERT_BIAS

}  // namespace trainx::kernels
