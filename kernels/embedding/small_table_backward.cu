#include "kernels/embedding/embedding_backward.hpp"
#include "kernels/reduce/column_tile.cuh"

namespace trainx::kernels {
namespace {

constexpr std::int64_t most_types = 64;

// The rows whose token is `type`; others are not read.
template <class T, bool aligned>
struct RowsOfType {
  using Fetched = Eight<T>;
  const T* d;
  const std::int32_t* tokens;
  std::int64_t columns;
  std::int32_t type;
  __device__ Fetched load(std::int64_t row, std::int64_t column, int count) const {
    return load8<aligned>(d + row * columns + column, count > 0 && tokens[row] == type ? count : 0);
  }
  __device__ void add(std::int64_t row, std::int64_t, int, const Fetched& fetched,
                      float (&sums)[8]) const {
    if (tokens[row] != type) return;
    float values[8];
    widen8(fetched, values);
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += values[j];
  }
};

template <class T>
cudaError_t launch_types(const EmbeddingBackward<T>& op, const FoldMemory& memory,
                         cudaStream_t stream) {
  if (op.vocab_size > most_types) return cudaErrorInvalidValue;
  for (std::int32_t type = 0; type < op.vocab_size; ++type) {
    const TileSums to{op.d_table + type * op.columns, op.accumulate, memory};
    const std::int64_t rows = type == op.without_gradient ? 0 : op.rows;
    const cudaError_t error =
        op.columns % 8 == 0 && aligned16(op.d)
            ? launch_column_tiles<4>(RowsOfType<T, true>{op.d, op.tokens, op.columns, type}, rows,
                                     op.columns, to, stream)
            : launch_column_tiles<2>(RowsOfType<T, false>{op.d, op.tokens, op.columns, type}, rows,
                                     op.columns, to, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

constexpr int threads = 256;

// Eight columns of a position a thread, over all samples.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads)
    position_backward_kernel(PositionBackward<T> op, std::int64_t pieces) {
  constexpr int ahead = 8;
  const std::int64_t samples = op.rows / op.length, sample_elements = op.length * op.columns;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       i < op.positions * pieces; i += static_cast<std::int64_t>(gridDim.x) * threads) {
    const std::int64_t position = i / pieces, column = 8 * (i - position * pieces);
    const int count = static_cast<int>(op.columns - column < 8 ? op.columns - column : 8);
    float sums[8] = {};
    if (position < op.length) {
      const T* const d = op.d + position * op.columns + column;
      for (std::int64_t b = 0; b < samples; b += ahead) {
        Eight<T> fetched[ahead];
#pragma unroll
        for (int a = 0; a < ahead; ++a)
          fetched[a] = load8<aligned>(d + (b + a) * sample_elements, b + a < samples ? count : 0);
#pragma unroll
        for (int a = 0; a < ahead; ++a) {
          float x[8];
          widen8(fetched[a], x);
#pragma unroll
          for (int j = 0; j < 8; ++j)
            if (b + a < samples) sums[j] += x[j];
        }
      }
    } else if (op.accumulate) {
      continue;
    }
    put_sums8(op.d_table + position * op.columns + column, sums, count, op.accumulate);
  }
}

template <class T>
cudaError_t launch_positions(const PositionBackward<T>& op, cudaStream_t stream) {
  const std::int64_t pieces = (op.columns + 7) / 8, work = op.positions * pieces;
  if (work == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((work + threads - 1) / threads, 8, blocks);
      error != cudaSuccess)
    return error;
  if (op.columns % 8 == 0 && aligned16(op.d))
    position_backward_kernel<T, true><<<blocks, threads, 0, stream>>>(op, pieces);
  else
    position_backward_kernel<T, false><<<blocks, threads, 0, stream>>>(op, pieces);
  return cudaGetLastError();
}

}  // namespace

std::int64_t type_embedding_backward_partial_bytes(std::int64_t columns) {
  return tile_partial_bytes(columns);
}
cudaError_t type_embedding_backward(const EmbeddingBackward<float>& op, const FoldMemory& memory,
                                    cudaStream_t stream) {
  return launch_types(op, memory, stream);
}
cudaError_t type_embedding_backward(const EmbeddingBackward<Bf16>& op, const FoldMemory& memory,
                                    cudaStream_t stream) {
  return launch_types(op, memory, stream);
}
cudaError_t type_embedding_backward(const EmbeddingBackward<Fp16>& op, const FoldMemory& memory,
                                    cudaStream_t stream) {
  return launch_types(op, memory, stream);
}
cudaError_t position_backward(const PositionBackward<float>& op, cudaStream_t stream) {
  return launch_positions(op, stream);
}
cudaError_t position_backward(const PositionBackward<Bf16>& op, cudaStream_t stream) {
  return launch_positions(op, stream);
}
cudaError_t position_backward(const PositionBackward<Fp16>& op, cudaStream_t stream) {
  return launch_positions(op, stream);
}

}  // namespace trainx::kernels
