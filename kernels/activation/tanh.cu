#include "kernels/activation/tanh.hpp"
#include "kernels/reduce/column_tile.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

// Few elements, a vector for each sample: the accurate tanhf costs nothing that is seen.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads)
    tanh_kernel(T* out, const T* pre, std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads * 8;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) * 8;
       i < elements; i += step) {
    const int count = static_cast<int>(elements - i < 8 ? elements - i : 8);
    // the last piece may be cut short
    const bool whole = aligned && count == 8;
    float x[8];
    widen8(whole ? load8<true>(pre + i, 8) : load8<false>(pre + i, count), x);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = tanhf(x[j]);
    Eight<T> to;
    narrow8(x, to);
    if (whole)
      store8<true>(out + i, to, 8);
    else
      store8<false>(out + i, to, count);
  }
}

template <class T>
cudaError_t forward(T* out, const T* pre, std::int64_t elements, cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((elements + 8 * threads - 1) / (8 * threads),
                                           blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (aligned16(out) && aligned16(pre))
    tanh_kernel<T, true><<<blocks, threads, 0, stream>>>(out, pre, elements);
  else
    tanh_kernel<T, false><<<blocks, threads, 0, stream>>>(out, pre, elements);
  return cudaGetLastError();
}

template <class T, bool aligned>
struct Backward {
  struct Fetched {
    Eight<T> d_out, out;
  };
  const T* d_out;
  const T* out;
  T* d_pre;
  std::int64_t columns;
  __device__ Fetched load(std::int64_t row, std::int64_t column, int count) const {
    return {load8<aligned>(d_out + row * columns + column, count),
            load8<aligned>(out + row * columns + column, count)};
  }
  __device__ void add(std::int64_t row, std::int64_t column, int count, const Fetched& fetched,
                      float (&sums)[8]) const {
    float d[8], y[8];
    widen8(fetched.d_out, d);
    widen8(fetched.out, y);
#pragma unroll
    for (int j = 0; j < 8; ++j) d[j] *= 1 - y[j] * y[j];
    Eight<T> rounded;
    narrow8(d, rounded);
    store8<aligned>(d_pre + row * columns + column, rounded, count);
    widen8(rounded, d);
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += d[j];
  }
};

template <class T>
cudaError_t backward(const TanhBackward<T>& op, const FoldMemory& memory, cudaStream_t stream) {
  const TileSums to{op.d_bias, op.accumulate, memory};
  if (op.columns % 8 == 0 && aligned16(op.d_out) && aligned16(op.out) && aligned16(op.d_pre))
    return launch_column_tiles<2>(Backward<T, true>{op.d_out, op.out, op.d_pre, op.columns},
                                  op.rows, op.columns, to, stream);
  return launch_column_tiles<1>(Backward<T, false>{op.d_out, op.out, op.d_pre, op.columns}, op.rows,
                                op.columns, to, stream);
}

}  // namespace

std::int64_t tanh_backward_partial_bytes(std::int64_t columns) {
  return tile_partial_bytes(columns);
}
cudaError_t tanh(float* out, const float* pre, std::int64_t elements, cudaStream_t stream) {
  return forward(out, pre, elements, stream);
}
cudaError_t tanh(Bf16* out, const Bf16* pre, std::int64_t elements, cudaStream_t stream) {
  return forward(out, pre, elements, stream);
}
cudaError_t tanh(Fp16* out, const Fp16* pre, std::int64_t elements, cudaStream_t stream) {
  return forward(out, pre, elements, stream);
}
cudaError_t tanh_backward(const TanhBackward<float>& op, const FoldMemory& memory,
                          cudaStream_t stream) {
  return backward(op, memory, stream);
}
cudaError_t tanh_backward(const TanhBackward<Bf16>& op, const FoldMemory& memory,
                          cudaStream_t stream) {
  return backward(op, memory, stream);
}
cudaError_t tanh_backward(const TanhBackward<Fp16>& op, const FoldMemory& memory,
                          cudaStream_t stream) {
  return backward(op, memory, stream);
}

}  // namespace trainx::kernels
