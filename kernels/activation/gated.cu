#include "kernels/activation/gated.hpp"
#include "kernels/activation/value_and_slope.cuh"
#include "kernels/activation/with_kind.hpp"
#include "kernels/eight.cuh"
#include "kernels/launch.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8, ahead = 2;

// Pieces of eight columns, those of a row one after the other, then those of the next row. A
// thread's next piece is a grid of threads further; only the first is found by division.
struct Walk {
  std::int64_t row, step_rows;
  int piece, step_pieces, pieces;  // pieces: of a row
  __device__ explicit Walk(int pieces_of_row) : pieces(pieces_of_row) {
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x,
                       step = static_cast<std::int64_t>(gridDim.x) * threads;
    row = first / pieces;
    piece = static_cast<int>(first - row * pieces);
    step_rows = step / pieces;
    step_pieces = static_cast<int>(step - step_rows * pieces);
  }
  __device__ void next() {
    row += step_rows;
    piece += step_pieces;
    if (piece >= pieces) {
      piece -= pieces;
      ++row;
    }
  }
};

template <class T, ActivationKind kind, bool aligned>
__global__ void __launch_bounds__(threads) gated_kernel(Gated<T> op, int pieces) {
  const int columns = static_cast<int>(op.columns);
  for (Walk walk(pieces); walk.row < op.rows;) {
    Eight<T> gate[ahead], up[ahead];
    T* to[ahead];
    int counts[ahead];
#pragma unroll
    for (int a = 0; a < ahead; ++a, walk.next()) {
      const int c = 8 * walk.piece;
      counts[a] = walk.row < op.rows ? columns - c : 0;
      const T* const from = op.x + 2 * walk.row * columns + c;
      gate[a] = load8<aligned>(from, counts[a]);
      up[a] = load8<aligned>(from + columns, counts[a]);
      to[a] = op.out + walk.row * columns + c;
    }
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      float g[8], u[8];
      widen8(gate[a], g);
      widen8(up[a], u);
#pragma unroll
      for (int j = 0; j < 8; ++j) g[j] = value_and_slope<kind, T>(g[j]).value * u[j];
      narrow8(g, gate[a]);
      store8<aligned>(to[a], gate[a], counts[a]);
    }
  }
}

template <class T, ActivationKind kind, bool aligned>
__global__ void __launch_bounds__(threads) gated_backward_kernel(GatedBackward<T> op, int pieces) {
  const int columns = static_cast<int>(op.columns);
  for (Walk walk(pieces); walk.row < op.rows;) {
    Eight<T> d_out[ahead], gate[ahead], up[ahead];
    T* to[ahead];
    int counts[ahead];
#pragma unroll
    for (int a = 0; a < ahead; ++a, walk.next()) {
      const int c = 8 * walk.piece;
      counts[a] = walk.row < op.rows ? columns - c : 0;
      const std::int64_t at = 2 * walk.row * columns + c;
      d_out[a] = load8<aligned>(op.d_out + walk.row * columns + c, counts[a]);
      gate[a] = load8<aligned>(op.x + at, counts[a]);
      up[a] = load8<aligned>(op.x + at + columns, counts[a]);
      to[a] = op.d_x + at;
    }
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      float d[8], g[8], u[8];
      widen8(d_out[a], d);
      widen8(gate[a], g);
      widen8(up[a], u);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const ValueAndSlope f = value_and_slope<kind, T>(g[j]);
        g[j] = d[j] * f.slope * u[j];
        u[j] = d[j] * f.value;
      }
      narrow8(g, gate[a]);
      narrow8(u, up[a]);
      store8<aligned>(to[a], gate[a], counts[a]);
      store8<aligned>(to[a] + columns, up[a], counts[a]);
    }
  }
}

constexpr std::int64_t most_columns = std::int64_t{1} << 29;

cudaError_t grid_of(std::int64_t rows, int pieces, unsigned& blocks) {
  return blocks_for((rows * pieces + ahead * threads - 1) / (ahead * threads),
                    blocks_per_multiprocessor, blocks);
}

template <ActivationKind kind, class T>
cudaError_t forward(const Gated<T>& op, cudaStream_t stream) {
  if (op.rows == 0 || op.columns == 0) return cudaSuccess;
  if (op.columns > most_columns) return cudaErrorInvalidValue;
  const int pieces = static_cast<int>((op.columns + 7) / 8);
  unsigned blocks = 0;
  if (const cudaError_t error = grid_of(op.rows, pieces, blocks); error != cudaSuccess)
    return error;
  if (op.columns % 8 == 0 && aligned16(op.x) && aligned16(op.out))
    gated_kernel<T, kind, true><<<blocks, threads, 0, stream>>>(op, pieces);
  else
    gated_kernel<T, kind, false><<<blocks, threads, 0, stream>>>(op, pieces);
  return cudaGetLastError();
}

template <ActivationKind kind, class T>
cudaError_t backward(const GatedBackward<T>& op, cudaStream_t stream) {
  if (op.rows == 0 || op.columns == 0) return cudaSuccess;
  if (op.columns > most_columns) return cudaErrorInvalidValue;
  const int pieces = static_cast<int>((op.columns + 7) / 8);
  unsigned blocks = 0;
  if (const cudaError_t error = grid_of(op.rows, pieces, blocks); error != cudaSuccess)
    return error;
  if (op.columns % 8 == 0 && aligned16(op.d_out) && aligned16(op.x) && aligned16(op.d_x))
    gated_backward_kernel<T, kind, true><<<blocks, threads, 0, stream>>>(op, pieces);
  else
    gated_backward_kernel<T, kind, false><<<blocks, threads, 0, stream>>>(op, pieces);
  return cudaGetLastError();
}

/// No gate is a tanh: the slope takes its result, which gates do not keep.
template <class F>
cudaError_t with_gate(ActivationKind kind, F launch) {
  return with_kind(kind, [&](auto k) {
    if constexpr (k.value == ActivationKind::tanh)
      return cudaErrorInvalidValue;
    else
      return launch(k);
  });
}

}  // namespace

template <class T>
cudaError_t gated(const Gated<T>& op, ActivationKind kind, cudaStream_t stream) {
  return with_gate(kind, [&](auto k) { return forward<k.value>(op, stream); });
}

template <class T>
cudaError_t gated_backward(const GatedBackward<T>& op, ActivationKind kind, cudaStream_t stream) {
  return with_gate(kind, [&](auto k) { return backward<k.value>(op, stream); });
}

template cudaError_t gated(const Gated<float>&, ActivationKind, cudaStream_t);
template cudaError_t gated(const Gated<Bf16>&, ActivationKind, cudaStream_t);
template cudaError_t gated(const Gated<Fp16>&, ActivationKind, cudaStream_t);
template cudaError_t gated_backward(const GatedBackward<float>&, ActivationKind, cudaStream_t);
template cudaError_t gated_backward(const GatedBackward<Bf16>&, ActivationKind, cudaStream_t);
template cudaError_t gated_backward(const GatedBackward<Fp16>&, ActivationKind, cudaStream_t);

}  // namespace trainx::kernels
