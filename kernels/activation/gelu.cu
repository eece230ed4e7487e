#include "kernels/activation/gelu.hpp"
#include "kernels/activation/gelu_cdf.cuh"
#include "kernels/reduce/column_tile.cuh"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

template <class T, class Shape, bool aligned>
__global__ void __launch_bounds__(threads)
    gelu_kernel(T* out, const T* pre, std::int64_t elements) {
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
      // The last piece may be cut short even where all is aligned.
      pieces[a] = aligned && counts[a] == 8 ? load8<true>(pre + i + a * step, 8)
                                            : load8<false>(pre + i + a * step, counts[a]);
    }
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      float x[8];
      widen8(pieces[a], x);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] *= Shape::of(x[j]).cdf;
      narrow8(x, pieces[a]);
      if (aligned && counts[a] == 8)
        store8<true>(out + i + a * step, pieces[a], 8);
      else
        store8<false>(out + i + a * step, pieces[a], counts[a]);
    }
  }
}

template <class T, class Shape>
cudaError_t launch_forward(T* out, const T* pre, std::int64_t elements, cudaStream_t stream) {
  if (elements == 0) return cudaSuccess;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for((elements + 8 * threads - 1) / (8 * threads),
                                           blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (aligned16(out) && aligned16(pre))
    gelu_kernel<T, Shape, true><<<blocks, threads, 0, stream>>>(out, pre, elements);
  else
    gelu_kernel<T, Shape, false><<<blocks, threads, 0, stream>>>(out, pre, elements);
  return cudaGetLastError();
}
template <class T>
cudaError_t forward(T* out, const T* pre, std::int64_t elements, GeluKind kind,
                    cudaStream_t stream) {
  return kind == GeluKind::tanh ? launch_forward<T, TanhCdf<T>>(out, pre, elements, stream)
                                : launch_forward<T, ErfCdf<T>>(out, pre, elements, stream);
}

template <class T, class Shape, bool aligned>
struct Backward {
  struct Fetched {
    Eight<T> d_out, pre;
  };
  const T* d_out;
  const T* pre;
  T* d_pre;
  std::int64_t columns;
  __device__ Fetched load(std::int64_t row, std::int64_t column, int count) const {
    return {load8<aligned>(d_out + row * columns + column, count),
            load8<aligned>(pre + row * columns + column, count)};
  }
  __device__ void add(std::int64_t row, std::int64_t column, int count, const Fetched& fetched,
                      float (&sums)[8]) const {
    float d[8], x[8];
    widen8(fetched.d_out, d);
    widen8(fetched.pre, x);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const Cdf at = Shape::of(x[j]);
      d[j] *= at.cdf + x[j] * at.slope;
    }
    Eight<T> rounded;
    narrow8(d, rounded);
    store8<aligned>(d_pre + row * columns + column, rounded, count);
    widen8(rounded, d);
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += d[j];
  }
};

template <class T, class Shape>
cudaError_t launch_backward(const GeluBackward<T>& op, const FoldMemory& memory,
                            cudaStream_t stream) {
  const TileSums to{op.d_bias, op.accumulate, memory};
  if (op.columns % 8 == 0 && aligned16(op.d_out) && aligned16(op.pre) && aligned16(op.d_pre))
    return launch_column_tiles < sizeof(T) == 2
               ? 4
               : 2 > (Backward<T, Shape, true>{op.d_out, op.pre, op.d_pre, op.columns}, op.rows,
                      op.columns, to, stream);
  return launch_column_tiles<1>(Backward<T, Shape, false>{op.d_out, op.pre, op.d_pre, op.columns},
                                op.rows, op.columns, to, stream);
}
template <class T>
cudaError_t backward(const GeluBackward<T>& op, GeluKind kind, const FoldMemory& memory,
                     cudaStream_t stream) {
  return kind == GeluKind::tanh ? launch_backward<T, TanhCdf<T>>(op, memory, stream)
                                : launch_backward<T, ErfCdf<T>>(op, memory, stream);
}

}  // namespace

std::int64_t gelu_backward_partial_bytes(std::int64_t columns) {
  return tile_partial_bytes(columns);
}
cudaError_t gelu(float* out, const float* pre, std::int64_t elements, GeluKind kind,
                 cudaStream_t stream) {
  return forward(out, pre, elements, kind, stream);
}
cudaError_t gelu(Bf16* out, const Bf16* pre, std::int64_t elements, GeluKind kind,
                 cudaStream_t stream) {
  return forward(out, pre, elements, kind, stream);
}
cudaError_t gelu(Fp16* out, const Fp16* pre, std::int64_t elements, GeluKind kind,
                 cudaStream_t stream) {
  return forward(out, pre, elements, kind, stream);
}
cudaError_t gelu_backward(const GeluBackward<float>& op, GeluKind kind, const FoldMemory& memory,
                          cudaStream_t stream) {
  return backward(op, kind, memory, stream);
}
cudaError_t gelu_backward(const GeluBackward<Bf16>& op, GeluKind kind, const FoldMemory& memory,
                          cudaStream_t stream) {
  return backward(op, kind, memory, stream);
}
cudaError_t gelu_backward(const GeluBackward<Fp16>& op, GeluKind kind, const FoldMemory& memory,
                          cudaStream_t stream) {
  return backward(op, kind, memory, stream);
}

}  // namespace trainx::kernels
