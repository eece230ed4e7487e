#include "kernels/activation/pointwise.hpp"
#include "kernels/activation/value_and_slope.cuh"
#include "kernels/activation/with_kind.hpp"
#include "kernels/reduce/column_tile.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

template <class T, ActivationKind kind, bool aligned>
__global__ void __launch_bounds__(threads)
    pointwise_kernel(T* out, const T* pre, std::int64_t elements) {
  constexpr int ahead = 2;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads * 8;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) * 8;
       i < elements; i += ahead * step) {
    Eight<T> pieces[ahead];
    int counts[ahead];
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      const std::int64_t left = elements - i - a * step;
      counts[a] = static_cast<int>(left < 0 ? 0 : left < 8 ? left : 8);
      // the last piece may be cut short even where all is aligned
      pieces[a] = aligned && counts[a] == 8 ? load8<true>(pre + i + a * step, 8)
                                            : load8<false>(pre + i + a * step, counts[a]);
    }
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      float x[8];
      widen8(pieces[a], x);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = value_and_slope<kind, T>(x[j]).value;
      narrow8(x, pieces[a]);
      if (aligned && counts[a] == 8)
        store8<true>(out + i + a * step, pieces[a], 8);
      else
        store8<false>(out + i + a * step, pieces[a], counts[a]);
    }
  }
}

template <ActivationKind kind, class T>
cudaError_t forward(T* out, const T* pre, std::int64_t elements, cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((elements + 8 * threads - 1) / (8 * threads),
                                           blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (aligned16(out) && aligned16(pre))
    pointwise_kernel<T, kind, true><<<blocks, threads, 0, stream>>>(out, pre, elements);
  else
    pointwise_kernel<T, kind, false><<<blocks, threads, 0, stream>>>(out, pre, elements);
  return cudaGetLastError();
}

template <class T, ActivationKind kind, bool aligned>
struct Backward {
  struct Fetched {
    Eight<T> d_out, kept;
  };
  const T* d_out;
  const T* kept;
  T* d_pre;
  std::int64_t columns;
  __device__ Fetched load(std::int64_t row, std::int64_t column, int count) const {
    return {load8<aligned>(d_out + row * columns + column, count),
            load8<aligned>(kept + row * columns + column, count)};
  }
  __device__ void add(std::int64_t row, std::int64_t column, int count, const Fetched& fetched,
                      float (&sums)[8]) const {
    float d[8], x[8];
    widen8(fetched.d_out, d);
    widen8(fetched.kept, x);
#pragma unroll
    for (int j = 0; j < 8; ++j) d[j] *= value_and_slope<kind, T>(x[j]).slope;
    Eight<T> rounded;
    narrow8(d, rounded);
    store8<aligned>(d_pre + row * columns + column, rounded, count);
    widen8(rounded, d);
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += d[j];
  }
};

template <ActivationKind kind, class T>
cudaError_t backward(const PointwiseBackward<T>& op, const FoldMemory& memory,
                     cudaStream_t stream) {
  const TileSums to{op.d_bias, op.accumulate, memory};
  constexpr int ahead = sizeof(T) == 2 ? 4 : 2;
  if (op.columns % 8 == 0 && aligned16(op.d_out) && aligned16(op.kept) && aligned16(op.d_pre))
    return launch_column_tiles<ahead>(
        Backward<T, kind, true>{op.d_out, op.kept, op.d_pre, op.columns}, op.rows, op.columns, to,
        stream);
  return launch_column_tiles<1>(Backward<T, kind, false>{op.d_out, op.kept, op.d_pre, op.columns},
                                op.rows, op.columns, to, stream);
}

}  // namespace

std::int64_t pointwise_backward_partial_bytes(std::int64_t columns) {
  return tile_partial_bytes(columns);
}

template <class T>
cudaError_t pointwise(T* out, const T* pre, std::int64_t elements, ActivationKind kind,
                      cudaStream_t stream) {
  return with_kind(kind, [&](auto k) { return forward<k.value>(out, pre, elements, stream); });
}

template <class T>
cudaError_t pointwise_backward(const PointwiseBackward<T>& op, ActivationKind kind,
                               const FoldMemory& memory, cudaStream_t stream) {
  return with_kind(kind, [&](auto k) { return backward<k.value>(op, memory, stream); });
}

template cudaError_t pointwise(float*, const float*, std::int64_t, ActivationKind, cudaStream_t);
template cudaError_t pointwise(Bf16*, const Bf16*, std::int64_t, ActivationKind, cudaStream_t);
template cudaError_t pointwise(Fp16*, const Fp16*, std::int64_t, ActivationKind, cudaStream_t);
template cudaError_t pointwise_backward(const PointwiseBackward<float>&, ActivationKind,
                                        const FoldMemory&, cudaStream_t);
template cudaError_t pointwise_backward(const PointwiseBackward<Bf16>&, ActivationKind,
                                        const FoldMemory&, cudaStream_t);
template cudaError_t pointwise_backward(const PointwiseBackward<Fp16>&, ActivationKind,
                                        const FoldMemory&, cudaStream_t);

}  // namespace trainx::kernels
