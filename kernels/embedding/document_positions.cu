#include "kernels/embedding/embedding_backward.hpp"
#include "kernels/launch.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;

// Where each row's token lies in its document; padding: `of_padding`.
__global__ void __launch_bounds__(threads)
    positions_kernel(std::int32_t* positions, const std::int32_t* starts, std::int64_t rows,
                     std::int64_t length, std::int32_t first, std::int32_t of_padding) {
  for (std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; r < rows;
       r += static_cast<std::int64_t>(gridDim.x) * threads)
    positions[r] = starts[r] < 0 ? of_padding
                                 : first + static_cast<std::int32_t>(r % length) - starts[r];
}

constexpr std::int64_t padded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

// A position is a token of a small vocabulary, and padding one that learns nothing.
template <class T>
cudaError_t launch(const PositionBackward<T>& op, void* scratch, cudaStream_t stream) {
  auto* const positions = static_cast<std::int32_t*>(scratch);
  if (op.rows > 0) {
    unsigned blocks = 0;
    if (const cudaError_t error = blocks_for((op.rows + threads - 1) / threads, 8, blocks);
        error != cudaSuccess)
      return error;
    positions_kernel<<<blocks, threads, 0, stream>>>(
        positions, op.document_starts, op.rows, op.length, static_cast<std::int32_t>(op.first_row),
        static_cast<std::int32_t>(op.positions));
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  return embedding_backward(EmbeddingBackward<T>{op.rows, op.columns, op.positions, op.d, positions,
                                                 op.d_table, op.accumulate, op.positions},
                            static_cast<char*>(scratch) + padded(4 * op.rows), stream);
}

}  // namespace

std::int64_t document_position_backward_scratch_bytes(std::int64_t rows, std::int64_t columns) {
  return padded(4 * rows) + embedding_backward_scratch_bytes(rows, columns);
}
cudaError_t document_position_backward(const PositionBackward<float>& op, void* scratch,
                                       cudaStream_t stream) {
  return launch(op, scratch, stream);
}
cudaError_t document_position_backward(const PositionBackward<Bf16>& op, void* scratch,
                                       cudaStream_t stream) {
  return launch(op, scratch, stream);
}
cudaError_t document_position_backward(const PositionBackward<Fp16>& op, void* scratch,
                                       cudaStream_t stream) {
  return launch(op, scratch, stream);
}

}  // namespace trainx::kernels
