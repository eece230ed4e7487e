#include "kernels/eight.cuh"
#include "kernels/embedding/embedding_backward.hpp"
#include "kernels/embedding/sorted_rows.hpp"
#include "kernels/launch.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

// Rows are sorted by token and cut into pieces of `piece_rows`. A block adds up the runs of equal
// tokens in its piece: a run that lies within goes to the table, one that crosses a border leaves
// its part in `partial` [piece][from the left, to the right][columns]; a second launch adds the
// parts of each such run in order.
constexpr int piece_rows = 32;

constexpr std::int64_t padded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }
std::int64_t pieces_of(std::int64_t rows) { return (rows + piece_rows - 1) / piece_rows; }

struct Sorted {
  const std::int32_t* keys;
  const std::int32_t* rows;
  float* partial;
  std::int64_t count, partial_pitch;  // pitch: columns rounded up to eight
};

__device__ __forceinline__ void put8(float* to, const float (&x)[8]) {
  Eight<float> words;
  narrow8(x, words);
  store8<true>(to, words, 8);
}

// Block: eight columns a thread. Grid: pieces.
template <class T, bool aligned>
__global__ void add_runs(EmbeddingBackward<T> op, Sorted sorted) {
  constexpr int ahead = 4;
  // keys of the piece between its neighbours'; -1 where there is none
  __shared__ std::int32_t keys[piece_rows + 2], rows[piece_rows];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * piece_rows;
  const int n =
      static_cast<int>(sorted.count - first < piece_rows ? sorted.count - first : piece_rows);
  for (int i = static_cast<int>(threadIdx.x); i < piece_rows + 2;
       i += static_cast<int>(blockDim.x)) {
    const std::int64_t at = first + i - 1;
    keys[i] = at >= 0 && at < sorted.count ? sorted.keys[at] : -1;
    if (i >= 1 && i <= n) rows[i - 1] = sorted.rows[at];
  }
  __syncthreads();
  float* const partial = sorted.partial +
                         static_cast<std::int64_t>(blockIdx.x) * 2 * sorted.partial_pitch;
  for (std::int64_t c = 8 * static_cast<std::int64_t>(threadIdx.x); c < op.columns;
       c += 8 * blockDim.x) {
    const int count = static_cast<int>(op.columns - c < 8 ? op.columns - c : 8);
    float sums[8] = {};
    bool from_left = keys[0] == keys[1];
    for (int begin = 0; begin < n; begin += ahead) {
      Eight<T> fetched[ahead];
#pragma unroll
      for (int a = 0; a < ahead; ++a)
        if (begin + a < n && keys[begin + a + 1] != op.without_gradient)
          fetched[a] = load8<aligned>(op.d + rows[begin + a] * op.columns + c, count);
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        const int i = begin + a;
        if (i >= n) break;
        const std::int32_t key = keys[i + 1];
        if (key == op.without_gradient) {
          from_left = false;
          continue;
        }
        float x[8];
        widen8(fetched[a], x);
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[j] += x[j];
        const bool ends = key != keys[i + 2], last = i + 1 == n;
        if (!ends && !last) continue;
        if (from_left)
          put8(partial + c, sums);
        else if (ends)
          put_sums8(op.d_table + key * op.columns + c, sums, count, op.accumulate);
        if (!ends && !from_left) put8(partial + sorted.partial_pitch + c, sums);
        from_left = false;
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[j] = 0;
      }
    }
  }
}

// The runs that begin in a piece and go on beyond it.
template <class T>
__global__ void add_crossing_runs(EmbeddingBackward<T> op, Sorted sorted, std::int64_t pieces) {
  const std::int64_t piece = blockIdx.x, first = piece * piece_rows, next = first + piece_rows;
  if (next >= sorted.count) return;
  const std::int32_t key = sorted.keys[next - 1];
  if (sorted.keys[next] != key || key == op.without_gradient) return;
  if (first > 0 && sorted.keys[first - 1] == key) return;  // it has begun earlier
  // the piece in which it ends
  std::int64_t last = piece + 1;
  while (last + 1 < pieces && sorted.keys[(last + 1) * piece_rows] == key) ++last;
  for (std::int64_t c = 8 * static_cast<std::int64_t>(threadIdx.x); c < op.columns;
       c += 8 * blockDim.x) {
    float sums[8];
    widen8(load8<true>(sorted.partial + (2 * piece + 1) * sorted.partial_pitch + c, 8), sums);
#pragma unroll 4
    for (std::int64_t p = piece + 1; p <= last; ++p) {
      float x[8];
      widen8(load8<true>(sorted.partial + 2 * p * sorted.partial_pitch + c, 8), x);
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[j] += x[j];
    }
    put_sums8(op.d_table + key * op.columns + c, sums,
              static_cast<int>(op.columns - c < 8 ? op.columns - c : 8), op.accumulate);
  }
}

template <class T>
cudaError_t launch(const EmbeddingBackward<T>& op, void* scratch, cudaStream_t stream) {
  if (op.rows >= std::int64_t{1} << 31) return cudaErrorInvalidValue;
  if (!op.accumulate && op.vocab_size > 0 && op.columns > 0)
    if (const cudaError_t error = cudaMemsetAsync(
            op.d_table, 0, static_cast<std::size_t>(op.vocab_size * op.columns) * sizeof(float),
            stream);
        error != cudaSuccess)
      return error;
  if (op.rows == 0 || op.columns == 0) return cudaSuccess;
  char* at = static_cast<char*>(scratch);
  auto* const keys = reinterpret_cast<std::int32_t*>(at);
  auto* const rows = reinterpret_cast<std::int32_t*>(at += padded(4 * op.rows));
  auto* const partial = reinterpret_cast<float*>(at += padded(4 * op.rows));
  const std::int64_t pieces = pieces_of(op.rows), pitch = (op.columns + 7) / 8 * 8;
  void* const temporary = at + padded(pieces * 2 * pitch * 4);
  if (const cudaError_t error = sort_tokens(keys, rows, op.tokens, op.rows,
                                            std::max(op.vocab_size, op.without_gradient + 1),
                                            temporary, stream);
      error != cudaSuccess)
    return error;
  const Sorted sorted{keys, rows, partial, op.rows, pitch};
  const auto blocks = static_cast<unsigned>(pieces);
  const auto threads =
      static_cast<unsigned>(std::clamp<std::int64_t>((op.columns / 8 + 31) / 32 * 32, 32, 256));
  if (op.columns % 8 == 0 && aligned16(op.d))
    add_runs<T, true><<<blocks, threads, 0, stream>>>(op, sorted);
  else
    add_runs<T, false><<<blocks, threads, 0, stream>>>(op, sorted);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess || pieces == 1)
    return error;
  add_crossing_runs<<<blocks, threads, 0, stream>>>(op, sorted, pieces);
  return cudaGetLastError();
}

}  // namespace

std::int64_t embedding_backward_scratch_bytes(std::int64_t rows, std::int64_t columns) {
  return 2 * padded(4 * rows) + padded(pieces_of(rows) * 2 * ((columns + 7) / 8 * 8) * 4) +
         sort_bytes(rows);
}
cudaError_t embedding_backward(const EmbeddingBackward<float>& op, void* scratch,
                               cudaStream_t stream) {
  return launch(op, scratch, stream);
}
cudaError_t embedding_backward(const EmbeddingBackward<Bf16>& op, void* scratch,
                               cudaStream_t stream) {
  return launch(op, scratch, stream);
}
cudaError_t embedding_backward(const EmbeddingBackward<Fp16>& op, void* scratch,
                               cudaStream_t stream) {
  return launch(op, scratch, stream);
}

}  // namespace trainx::kernels
