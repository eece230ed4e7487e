#include "kernels/eight.cuh"
#include "kernels/embedding/position_in_document.hpp"
#include "kernels/launch.hpp"
#include "kernels/rotary/rotary.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;

// Part of the launch: nothing is allocated or copied for it, and a captured graph keeps it.
struct Frequencies {
  float of_pair[most_pairs];
};

// Of a launch, in the kernel's types. A row's work is cut into items of one piece of eight columns
// or two, or, where not all is aligned, of one pair or element.
struct Turn {
  int columns, heads, head_size, pairs;
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

template <int n>
__device__ __forceinline__ void clip_to(float (&v)[n], const Turn& turn) {
  if (!turn.clips) return;
#pragma unroll
  // comparisons with NaN are false
  for (int j = 0; j < n; ++j)
    v[j] = v[j] < -turn.clip ? -turn.clip : v[j] > turn.clip ? turn.clip : v[j];
}

template <class T>
__device__ __forceinline__ void take8(const Row<T>& row, int c, const Turn& turn, float (&v)[8]) {
  widen8(load8<true>(row.x + c, 8), v);
  clip_to(v, turn);
}
template <class T>
__device__ __forceinline__ void put8(const Row<T>& row, int c, const Turn& turn, float (&v)[8]) {
  if (turn.zeroes) {
    float before[8];
    widen8(load8<true>(row.cut + c, 8), before);
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (fabsf(before[j]) > turn.clip) v[j] = 0;
  }
  Eight<T> rounded;
  narrow8(v, rounded);
  store8<true>(row.y + c, rounded, 8);
}

template <class T>
__device__ __forceinline__ float take(const Row<T>& row, int c, const Turn& turn) {
  float v[1] = {widened(row.x[c])};
  clip_to(v, turn);
  return v[0];
}
template <class T>
__device__ __forceinline__ void put(const Row<T>& row, int c, const Turn& turn, float v) {
  if (turn.zeroes && fabsf(widened(row.cut[c])) > turn.clip) v = 0;
  narrow(v, row.y[c]);
}

__device__ __forceinline__ void turn_pair(float& a, float& b, float2 angle) {
  const float turned = a * angle.x - b * angle.y;
  b = b * angle.x + a * angle.y;
  a = turned;
}

// A block takes one row after the other: it computes the row's angles once, for all heads.
template <class T, bool aligned, bool neighbours>
__global__ void __launch_bounds__(threads)
    rotary_kernel(Rotary<T> op, Turn turn, Frequencies frequencies) {
  extern __shared__ float2 angles[];  // [2][pairs], cos and sin: used by turns
  int half = 0;
  const int thread = static_cast<int>(threadIdx.x), items = turn.heads * turn.items_of_head,
            head_rests = turn.heads * turn.rest_of_head;
  for (std::int64_t r = blockIdx.x; r < op.rows; r += gridDim.x, half ^= 1) {
    float2* const angle = angles + half * turn.pairs;
    const auto position = static_cast<float>(
        op.past + position_in_document(r, op.length, op.starts ? op.starts + r : nullptr));
    for (int p = thread; p < turn.pairs; p += threads) {
      float sin, cos;
      sincosf(__fmul_rn(position, frequencies.of_pair[p]), &sin, &cos);
      sin *= turn.factor;
      angle[p] = make_float2(cos * turn.factor, op.back ? -sin : sin);
    }
    // the other half is written next, and this one only behind the next barrier
    __syncthreads();
    const std::int64_t at = r * turn.columns;
    const Row<T> row{op.x + at, turn.zeroes ? op.cut + at : nullptr, op.y + at};
    for (int i = thread; i < items; i += threads) {
      const int head = i / turn.items_of_head, k = i - head * turn.items_of_head,
                first = head * turn.head_size;
      if constexpr (!aligned) {
        const int c = first + (neighbours ? 2 * k : k), d = c + (neighbours ? 1 : turn.pairs);
        float a = take(row, c, turn), b = take(row, d, turn);
        turn_pair(a, b, angle[k]);
        put(row, c, turn, a);
        put(row, d, turn, b);
      } else if constexpr (neighbours) {
        float v[8];
        take8(row, first + 8 * k, turn, v);
#pragma unroll
        for (int j = 0; j < 4; ++j) turn_pair(v[2 * j], v[2 * j + 1], angle[4 * k + j]);
        put8(row, first + 8 * k, turn, v);
      } else {
        float a[8], b[8];
        take8(row, first + 8 * k, turn, a);
        take8(row, first + 8 * k + turn.pairs, turn, b);
#pragma unroll
        for (int j = 0; j < 8; ++j) turn_pair(a[j], b[j], angle[8 * k + j]);
        put8(row, first + 8 * k, turn, a);
        put8(row, first + 8 * k + turn.pairs, turn, b);
      }
    }
    constexpr int width = aligned ? 8 : 1;
    for (int i = thread; i < turn.rests; i += threads) {
      int c = turn.heads * turn.head_size + (i - head_rests) * width;
      if (i < head_rests) {
        const int head = i / turn.rest_of_head;
        c = head * turn.head_size + 2 * turn.pairs + (i - head * turn.rest_of_head) * width;
      }
      if constexpr (aligned) {
        float v[8];
        take8(row, c, turn, v);
        put8(row, c, turn, v);
      } else {
        put(row, c, turn, take(row, c, turn));
      }
    }
  }
}

template <class T, bool aligned, bool neighbours>
cudaError_t launch(const Rotary<T>& op, Turn turn, cudaStream_t stream) {
  constexpr int width = aligned ? 8 : 1;
  turn.items_of_head = aligned ? turn.pairs / (neighbours ? 4 : 8) : turn.pairs;
  // in place the rest is there already
  if (op.x != op.y || turn.clips || turn.zeroes) {
    turn.rest_of_head = (turn.head_size - 2 * turn.pairs) / width;
    turn.rests = turn.heads * turn.rest_of_head +
                 (turn.columns - turn.heads * turn.head_size) / width;
  }
  Frequencies frequencies{};
  std::copy_n(op.frequencies, op.pairs, frequencies.of_pair);
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(op.rows, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  rotary_kernel<T, aligned, neighbours>
      <<<blocks, threads, 2 * static_cast<std::size_t>(op.pairs) * sizeof(float2), stream>>>(
          op, turn, frequencies);
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
