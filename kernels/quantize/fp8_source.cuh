// What a kernel casts to fp8: sixteen neighbouring elements, in fp32, rounded to T.
#pragma once
#include "kernels/activation/value_and_slope.cuh"
#include "kernels/quantize/sixteen.cuh"

namespace trainx::kernels {

/// When a kernel loads the inputs of a tile: each piece before its cast, all pieces before the
/// first cast, or the pieces of the next tile while this one is transposed. Each source has the
/// fastest one that its registers allow.
enum class Fetching : std::uint8_t { pieces, tile, next_tile };

/// A source loads `count` elements from element `at` on, which is in row `row`; `by_row`: it needs
/// to know the row. What it makes of them it returns as T holds it, and widened.
template <class T>
struct PlainSource {
  static constexpr bool by_row = false;
  static constexpr int ahead = 2;  // pieces of a thread that are on their way at once
  static constexpr Fetching fetching = sizeof(T) == 2 ? Fetching::next_tile : Fetching::pieces;
  using Fetched = Sixteen<T>;
  const T* x;
  template <bool aligned>
  __device__ Fetched load(std::int64_t at, std::int64_t, int count) const {
    return load16<aligned>(x + at, count);
  }
  __device__ Sixteen<T> make(const Fetched& fetched, float (&to)[16]) const {
    widen16(fetched, to);
    return fetched;
  }
};

/// As gelu_kernel makes it.
template <class T, class Shape>
struct GeluSource {
  static constexpr bool by_row = false;
  static constexpr int ahead = 2;
  static constexpr Fetching fetching = Fetching::next_tile;
  using Fetched = Sixteen<T>;
  const T* x;
  template <bool aligned>
  __device__ Fetched load(std::int64_t at, std::int64_t, int count) const {
    return load16<aligned>(x + at, count);
  }
  __device__ Sixteen<T> make(const Fetched& fetched, float (&to)[16]) const {
    widen16(fetched, to);
#pragma unroll
    for (int j = 0; j < 16; ++j) to[j] *= Shape::of(to[j]).cdf;
    return round16<T>(to);
  }
};

/// As the backward of GELU makes it.
template <class T, class Shape>
struct GeluGradientSource {
  static constexpr bool by_row = false;
  static constexpr int ahead = 1;
  static constexpr Fetching fetching = Fetching::pieces;
  struct Fetched {
    Sixteen<T> d_out, pre;
  };
  const T *d_out, *pre;
  template <bool aligned>
  __device__ Fetched load(std::int64_t at, std::int64_t, int count) const {
    return {load16<aligned>(d_out + at, count), load16<aligned>(pre + at, count)};
  }
  __device__ Sixteen<T> make(const Fetched& fetched, float (&to)[16]) const {
    float x[16];
    widen16(fetched.d_out, to);
    widen16(fetched.pre, x);
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      const Cdf at = Shape::of(x[j]);
      to[j] *= at.cdf + x[j] * at.slope;
    }
    return round16<T>(to);
  }
};

/// As gated_kernel makes it: of rows of twice as many columns, the gates before what they open.
template <class T, ActivationKind kind>
struct GatedSource {
  static constexpr bool by_row = true;
  static constexpr int ahead = 1;
  static constexpr Fetching fetching = Fetching::tile;
  struct Fetched {
    Sixteen<T> gate, up;
  };
  const T* x;
  std::int64_t columns;
  template <bool aligned>
  __device__ Fetched load(std::int64_t at, std::int64_t row, int count) const {
    const T* const gate = x + at + row * columns;
    return {load16<aligned>(gate, count), load16<aligned>(gate + columns, count)};
  }
  __device__ Sixteen<T> make(const Fetched& fetched, float (&to)[16]) const {
    float up[16];
    widen16(fetched.gate, to);
    widen16(fetched.up, up);
#pragma unroll
    for (int j = 0; j < 16; ++j) to[j] = value_and_slope<kind, T>(to[j]).value * up[j];
    return round16<T>(to);
  }
};

/// As gated_backward_kernel makes it: of rows of `columns`, the gates' before those of what they
/// open, whose gradients need no `up`.
template <class T, ActivationKind kind>
struct GatedGradientSource {
  static constexpr bool by_row = true;
  static constexpr int ahead = 1;
  static constexpr Fetching fetching = Fetching::pieces;
  struct Fetched {
    Sixteen<T> d_out, gate, up;
    bool of_gate;
  };
  const T *d_out, *x;
  std::int64_t columns;
  template <bool aligned>
  __device__ Fetched load(std::int64_t at, std::int64_t row, int count) const {
    const std::int64_t half = columns / 2, column = at - row * columns;
    const bool of_gate = column < half;
    const std::int64_t c = of_gate ? column : column - half;
    const T* const gate = x + row * columns + c;
    return {load16<aligned>(d_out + row * half + c, count), load16<aligned>(gate, count),
            load16<aligned>(gate + half, of_gate ? count : 0), of_gate};
  }
  __device__ Sixteen<T> make(const Fetched& fetched, float (&to)[16]) const {
    float gate[16], up[16];
    widen16(fetched.d_out, to);
    widen16(fetched.gate, gate);
    widen16(fetched.up, up);
    if (fetched.of_gate) {
#pragma unroll
      for (int j = 0; j < 16; ++j) to[j] = to[j] * value_and_slope<kind, T>(gate[j]).slope * up[j];
    } else {
#pragma unroll
      for (int j = 0; j < 16; ++j) to[j] *= value_and_slope<kind, T>(gate[j]).value;
    }
    return round16<T>(to);
  }
};

}  // namespace trainx::kernels
