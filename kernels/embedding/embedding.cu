#include "kernels/eight.cuh"
#include "kernels/embedding/embedding.hpp"
#include "kernels/launch.hpp"
#include "kernels/random/dropout_factors.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int blocks_per_multiprocessor = 8;

// A warp a row.
template <class T, bool aligned, bool scaled>
__global__ void __launch_bounds__(threads)
    embedding_kernel(Embedding<T> op, DropoutFactors dropout, float scale) {
  const int columns = static_cast<int>(op.columns);
  const float of_word = op.scales_word ? scale : 1.0f, of_sum = op.scales_word ? 1.0f : scale;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
       row < op.rows; row += step) {
    const std::int32_t token = op.tokens[row];
    const bool has_word = op.word_rows == 0 || token < op.word_rows;
    const T* const word = op.word + (has_word ? static_cast<std::int64_t>(token) : 0) * columns;
    const T* const position =
        op.position ? op.position + position_in_document(
                                        row, op.length,
                                        op.document_starts ? op.document_starts + row : nullptr,
                                        op.first_row) *
                                        columns
                    : nullptr;
    const T* const type =
        op.type ? op.type + static_cast<std::int64_t>(op.token_types[row]) * columns : nullptr;
    DropoutRow dropout_of_row{};
    if (dropout.on) dropout_of_row = dropout_row(dropout, row, columns);
#pragma unroll 3
    for (int c = 8 * (threadIdx.x % 32); c < columns; c += 8 * 32) {
      float x[8], more[8];
      widen8(load8<aligned>(word + c, columns - c), x);
      if (!has_word) {
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = 0;
      }
      if constexpr (scaled) {
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = product(x[j], of_word);
      }
      if (position) {
        widen8(load8<aligned>(position + c, columns - c), more);
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = sum(x[j], more[j]);
      }
      if (type) {
        widen8(load8<aligned>(type + c, columns - c), more);
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = sum(x[j], more[j]);
      }
      if constexpr (scaled) {
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = product(x[j], of_sum);
      }
      if (dropout.on) {
        factors8(dropout, dropout_of_row, c, more);
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = product(x[j], more[j]);
      }
      Eight<T> rounded;
      narrow8(x, rounded);
      store8<aligned>(op.out + row * columns + c, rounded, columns - c);
    }
  }
}

template <bool scaled, class T>
cudaError_t launch(const Embedding<T>& op, float scale, const FusedDropout& fused,
                   cudaStream_t stream) {
  if (op.rows == 0 || op.columns == 0) return cudaSuccess;
  const bool aligned = op.columns % 8 == 0 && aligned16(op.word) && aligned16(op.position) &&
                       aligned16(op.type) && aligned16(op.out);
  unsigned blocks = 0;
  if (const cudaError_t error =
          blocks_for((op.rows + warps - 1) / warps, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (aligned)
    embedding_kernel<T, true, scaled>
        <<<blocks, threads, 0, stream>>>(op, dropout_factors(fused), scale);
  else
    embedding_kernel<T, false, scaled>
        <<<blocks, threads, 0, stream>>>(op, dropout_factors(fused), scale);
  return cudaGetLastError();
}

}  // namespace

cudaError_t embedding(const Embedding<float>& op, const FusedDropout& dropout,
                      cudaStream_t stream) {
  return launch<false>(op, 1, dropout, stream);
}
cudaError_t embedding(const Embedding<Bf16>& op, const FusedDropout& dropout, cudaStream_t stream) {
  return launch<false>(op, 1, dropout, stream);
}
cudaError_t embedding(const Embedding<Fp16>& op, const FusedDropout& dropout, cudaStream_t stream) {
  return launch<false>(op, 1, dropout, stream);
}
template <class T>
cudaError_t scaled_embedding(const Embedding<T>& op, double scale, const FusedDropout& dropout,
                             cudaStream_t stream) {
  return launch<true>(op, static_cast<float>(scale), dropout, stream);
}
template cudaError_t scaled_embedding(const Embedding<float>&, double, const FusedDropout&,
                                      cudaStream_t);
template cudaError_t scaled_embedding(const Embedding<Bf16>&, double, const FusedDropout&,
                                      cudaStream_t);
template cudaError_t scaled_embedding(const Embedding<Fp16>&, double, const FusedDropout&,
                                      cudaStream_t);

}  // namespace trainx::kernels
