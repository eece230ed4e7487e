#include "kernels/eight.cuh"
#include "kernels/embedding/position_in_document.hpp"
#include "kernels/launch.hpp"
#include "kernels/rotary/rotary.hpp"
#include <algorithm>
#include <type_traits>

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;
constexpr int ahead = 2;           // items of a thread that are on their way at a time
constexpr int most_rows = 8;       // of a block at a time
constexpr int most_angles = 1024;  // of a block at a time: 16 KiB with those of the rows before

// Part of the launch: nothing is allocated or copied for it, and a captured graph keeps it.
struct Frequencies {
  float of_pair[most_pairs];
};

// Of a launch, in the kernel's types. A row's work is cut into items of one piece of eight columns
// or two, or, where not all is aligned, of one pair or element.
struct Turn {
  int columns, heads, head_size, pairs;
  int rows_at_once;         // of a block
  int items_of_head;        // that are turned
  int rest_of_head, rests;  // items that are copied, of a head, and of all columns; 0: none
  float factor, clip;
  bool clips;   // on the way in
  bool zeroes;  // what was cut, on the way out
};

template <class T>
struct Row {
  const T* x;
  const T* cut;
  T* y;
};
template <class T>
__device__ __forceinline__ Row<T> row_of(const Rotary<T>& op, const Turn& turn, std::int64_t r) {
  const std::int64_t at = r * turn.columns;
  return {op.x + at, turn.zeroes ? op.cut + at : nullptr, op.y + at};
}

template <int n>
__device__ __forceinline__ void clip_to(float (&v)[n], const Turn& turn) {
  if (!turn.clips) return;
#pragma unroll
  // comparisons with NaN are false
  for (int j = 0; j < n; ++j)
    v[j] = v[j] < -turn.clip ? -turn.clip : v[j] > turn.clip ? turn.clip : v[j];
}

// Neighbouring columns that a thread loads and stores at once: eight, or where not all is aligned
// one.
template <class T, bool aligned>
struct Piece {
  static constexpr int columns = aligned ? 8 : 1;
  std::conditional_t<aligned, Eight<T>, T> raw;

  __device__ __forceinline__ void load(const T* from) {
    if constexpr (aligned)
      raw = load8<true>(from, 8);
    else
      raw = *from;
  }
  __device__ __forceinline__ void take(float (&v)[columns], const Turn& turn) const {
    if constexpr (aligned)
      widen8(raw, v);
    else
      v[0] = widened(raw);
    clip_to(v, turn);
  }
  __device__ __forceinline__ void put(const Row<T>& row, int c, float (&v)[columns],
                                      const Turn& turn) {
    if (turn.zeroes) {
      Piece before;
      before.load(row.cut + c);
      float cut[columns];
      if constexpr (aligned)
        widen8(before.raw, cut);
      else
        cut[0] = widened(before.raw);
#pragma unroll
      for (int j = 0; j < columns; ++j)
        if (fabsf(cut[j]) > turn.clip) v[j] = 0;
    }
    if constexpr (aligned) {
      narrow8(v, raw);
      store8<true>(row.y + c, raw, 8);
    } else {
      narrow(v[0], row.y[c]);
    }
  }
};

__device__ __forceinline__ void turn_pair(float& a, float& b, float2 angle) {
  const float turned = a * angle.x - b * angle.y;
  b = b * angle.x + a * angle.y;
  a = turned;
}

// Pairs of a head that a thread turns at once. Two pieces hold one of each pair, but where pairs
// are neighbours and a piece holds both.
template <class T, bool aligned, bool neighbours>
struct Item {
  using Part = Piece<T, aligned>;
  static constexpr int parts = aligned && neighbours ? 1 : 2, pairs = parts * Part::columns / 2;
  Part part[parts];

  // of part p of the item at pair k of a head
  __device__ __forceinline__ static int column(int first, int k, int p, const Turn& turn) {
    return first + (neighbours ? 2 * k + p : k + p * turn.pairs);
  }
  __device__ __forceinline__ void load(const T* x, int first, int k, const Turn& turn) {
#pragma unroll
    for (int p = 0; p < parts; ++p) part[p].load(x + column(first, k, p, turn));
  }
  __device__ __forceinline__ void store_turned(const Row<T>& row, int first, int k,
                                               const float2* angles, const Turn& turn) {
    float v[parts][Part::columns];
#pragma unroll
    for (int p = 0; p < parts; ++p) part[p].take(v[p], turn);
#pragma unroll
    for (int j = 0; j < pairs; ++j) {
      if constexpr (parts == 1)
        turn_pair(v[0][2 * j], v[0][2 * j + 1], angles[k + j]);
      else
        turn_pair(v[0][j], v[1][j], angles[k + j]);
    }
#pragma unroll
    for (int p = 0; p < parts; ++p) part[p].put(row, column(first, k, p, turn), v[p], turn);
  }
};

// [rows at once][pairs], cos and sin
template <class T>
__device__ __forceinline__ void compute_angles(const Rotary<T>& op, const Turn& turn,
                                               const Frequencies& frequencies,
                                               std::int64_t first_row, int rows, float2* angles) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * turn.pairs; i += threads) {
    const int k = i % turn.pairs;
    const std::int64_t r = first_row + i / turn.pairs;
    const auto position = static_cast<float>(
        op.past + position_in_document(r, op.length, op.starts ? op.starts + r : nullptr));
    float sin, cos;
    sincosf(__fmul_rn(position, frequencies.of_pair[k]), &sin, &cos);
    sin *= turn.factor;
    angles[i] = make_float2(cos * turn.factor, op.back ? -sin : sin);
  }
}

// A block takes a few rows after the other: it computes a row's angles once, for all heads, while
// its first columns are on their way.
template <class T, bool aligned, bool neighbours>
__global__ void __launch_bounds__(threads)
    rotary_kernel(Rotary<T> op, Turn turn, Frequencies frequencies) {
  using Pairs = Item<T, aligned, neighbours>;
  extern __shared__ float2 angles[];  // of two turns, so that one barrier is enough
  int half = 0;
  const int thread = static_cast<int>(threadIdx.x), items = turn.heads * turn.items_of_head,
            head_rests = turn.heads * turn.rest_of_head;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * turn.rows_at_once;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * turn.rows_at_once;
       first < op.rows; first += step, half ^= 1) {
    const int rows =
        static_cast<int>(min(static_cast<std::int64_t>(turn.rows_at_once), op.rows - first));
    float2* const angle = angles + half * turn.rows_at_once * turn.pairs;
    for (int begin = 0; begin < rows * items || begin == 0; begin += ahead * threads) {
      Pairs item[ahead];
      int row[ahead], head_at[ahead], k[ahead];
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        const int i = begin + a * threads + thread;
        row[a] = i < rows * items ? i / items : -1;
        if (row[a] < 0) continue;
        const int of_row = i - row[a] * items, head = of_row / turn.items_of_head;
        head_at[a] = head * turn.head_size;
        k[a] = (of_row - head * turn.items_of_head) * Pairs::pairs;
        item[a].load(op.x + (first + row[a]) * turn.columns, head_at[a], k[a], turn);
      }
      if (begin == 0) {
        compute_angles(op, turn, frequencies, first, rows, angle);
        __syncthreads();
      }
#pragma unroll
      for (int a = 0; a < ahead; ++a)
        if (row[a] >= 0)
          item[a].store_turned(row_of(op, turn, first + row[a]), head_at[a], k[a],
                               angle + row[a] * turn.pairs, turn);
    }
    using Part = Piece<T, aligned>;
    for (int i = thread; i < rows * turn.rests; i += threads) {
      const int r = i / turn.rests, rest = i - r * turn.rests;
      int c = turn.heads * turn.head_size + (rest - head_rests) * Part::columns;
      if (rest < head_rests) {
        const int head = rest / turn.rest_of_head;
        c = head * turn.head_size + 2 * turn.pairs +
            (rest - head * turn.rest_of_head) * Part::columns;
      }
      const Row<T> row = row_of(op, turn, first + r);
      Part part;
      part.load(row.x + c);
      float v[Part::columns];
      part.take(v, turn);
      part.put(row, c, v, turn);
    }
  }
}

template <class T, bool aligned, bool neighbours>
cudaError_t launch(const Rotary<T>& op, Turn turn, cudaStream_t stream) {
  constexpr int width = aligned ? 8 : 1;
  turn.items_of_head = turn.pairs / Item<T, aligned, neighbours>::pairs;
  // in place the rest is there already
  if (op.x != op.y || turn.clips || turn.zeroes) {
    turn.rest_of_head = (turn.head_size - 2 * turn.pairs) / width;
    turn.rests = turn.heads * turn.rest_of_head +
                 (turn.columns - turn.heads * turn.head_size) / width;
  }
  Frequencies frequencies{};
  std::copy_n(op.frequencies, op.pairs, frequencies.of_pair);
  turn.rows_at_once = std::clamp(
      ahead * threads / std::max(1, std::max(turn.heads * turn.items_of_head, turn.rests)), 1,
      std::min(most_rows, most_angles / std::max(1, turn.pairs)));
  unsigned blocks = 0;
  const std::int64_t work = (op.rows + turn.rows_at_once - 1) / turn.rows_at_once;
  if (const cudaError_t error = blocks_for(work, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  const auto bytes = sizeof(float2) * static_cast<std::size_t>(2 * turn.rows_at_once * turn.pairs);
  rotary_kernel<T, aligned, neighbours><<<blocks, threads, bytes, stream>>>(op, turn, frequencies);
  return cudaGetLastError();
}

}  // namespace

template <class T>
cudaError_t rotary(const Rotary<T>& op, cudaStream_t stream) {
  if (op.rows == 0 || op.columns == 0) return cudaSuccess;
  if (op.columns >= std::int64_t{1} << 31 || op.pairs > most_pairs || 2 * op.pairs > op.head_size ||
      op.heads * op.head_size > op.columns)
    return cudaErrorInvalidValue;
  Turn turn{};
  turn.columns = static_cast<int>(op.columns);
  turn.heads = static_cast<int>(op.heads);
  turn.head_size = static_cast<int>(op.head_size);
  turn.pairs = static_cast<int>(op.pairs);
  turn.factor = static_cast<float>(op.factor);
  turn.clip = static_cast<float>(op.clip);
  turn.clips = op.clip > 0 && !op.cut;
  turn.zeroes = op.clip > 0 && op.cut;
  const bool aligned = op.columns % 8 == 0 && op.head_size % 8 == 0 &&
                       op.pairs % (op.neighbours ? 4 : 8) == 0 && aligned16(op.x) &&
                       aligned16(op.y) && aligned16(op.cut);
  if (op.neighbours)
    return aligned ? launch<T, true, true>(op, turn, stream)
                   : launch<T, false, true>(op, turn, stream);
  return aligned ? launch<T, true, false>(op, turn, stream)
                 : launch<T, false, false>(op, turn, stream);
}

template cudaError_t rotary(const Rotary<float>&, cudaStream_t);
template cudaError_t rotary(const Rotary<Bf16>&, cudaStream_t);
template cudaError_t rotary(const Rotary<Fp16>&, cudaStream_t);

}  // namespace trainx::kernels
