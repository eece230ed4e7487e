#include "kernels/rows/for_elements.cuh"
#include "kernels/rows/latent_heads.hpp"

namespace trainx::kernels {
namespace {

struct Sizes {
  int H, D, V, plain, rope;
  std::int64_t pitch;  // of y
};
template <class T>
Sizes sizes_of(const LatentHeads<T>& l) {
  return {static_cast<int>(l.heads),      static_cast<int>(l.head_size()),
          static_cast<int>(l.value_size), static_cast<int>(l.plain),
          static_cast<int>(l.rope),       l.heads * (2 * l.head_size() + l.value_size)};
}

/// Writes rows of y.
template <class T>
struct Join {
  LatentHeads<T> op;
  Sizes s;
  __device__ T at(std::int64_t n, int c) const {
    const int H = s.H, D = s.D, V = s.V, plain = s.plain, rope = s.rope;
    const T* const kv = op.keys_values + n * H * (plain + V);
    if (c >= 2 * H * D) {
      const int v = c - 2 * H * D;
      return kv[v / V * (plain + V) + plain + v % V];
    }
    const int part = c / (H * D), of_part = c % (H * D), h = of_part / D, d = of_part % D;
    if (part == 0) return op.queries[n * H * D + h * D + (d < rope ? plain + d : d - rope)];
    return d < rope ? op.latent[(n + 1) * op.latent_columns - rope + d]
                    : kv[h * (plain + V) + d - rope];
  }
  __device__ void operator()(std::int64_t n, int c) const { op.y[n * s.pitch + c] = at(n, c); }
};

/// Adds what of_y(dy's row, column) says to an addend.
template <class T, class Source>
struct Part {
  T* to;
  const T* addend;
  const T* dy;
  std::int64_t pitch;  // of dy
  int columns;
  Source source;
  __device__ void operator()(std::int64_t n, int c) const {
    const std::int64_t i = n * columns + c;
    narrow(source(dy + n * pitch, c) + (addend ? widened(addend[i]) : 0.0f), to[i]);
  }
};

struct OfQuery {
  Sizes s;
  template <class T>
  __device__ float operator()(const T* dy, int c) const {
    const int h = c / s.D, e = c % s.D;
    return widened(dy[h * s.D + (e < s.plain ? s.rope + e : e - s.plain)]);
  }
};
struct OfKeyValue {
  Sizes s;
  template <class T>
  __device__ float operator()(const T* dy, int c) const {
    const int h = c / (s.plain + s.V), e = c % (s.plain + s.V);
    return widened(e < s.plain ? dy[(s.H + h) * s.D + s.rope + e]
                               : dy[2 * s.H * s.D + h * s.V + e - s.plain]);
  }
};
struct OfLatent {
  Sizes s;
  int first;  // column that turns
  template <class T>
  __device__ float operator()(const T* dy, int c) const {
    float sum = 0;
    if (c >= first)
      for (int h = 0; h < s.H; ++h) sum += widened(dy[(s.H + h) * s.D + c - first]);
    return sum;
  }
};

}  // namespace

template <class T>
cudaError_t latent_heads(const LatentHeads<T>& op, cudaStream_t stream) {
  const Sizes s = sizes_of(op);
  return launch_for_elements(op.rows, s.pitch, stream, Join<T>{op, s});
}

template <class T>
cudaError_t latent_heads_backward(const LatentHeadsBackward<T>& op, cudaStream_t stream) {
  const LatentHeads<T>& l = op.of;
  const Sizes s = sizes_of(l);
  const auto write = [&](T* to, const T* addend, std::int64_t columns, auto source) {
    if (!to) return cudaSuccess;
    return launch_for_elements(
        l.rows, columns, stream,
        Part<T, decltype(source)>{to, addend, op.dy, s.pitch, static_cast<int>(columns), source});
  };
  if (const cudaError_t error =
          write(op.queries, op.queries_addend, l.heads * l.head_size(), OfQuery{s});
      error != cudaSuccess)
    return error;
  if (const cudaError_t error = write(op.keys_values, op.keys_values_addend,
                                      l.heads * (l.plain + l.value_size), OfKeyValue{s});
      error != cudaSuccess)
    return error;
  return write(op.latent, op.latent_addend, l.latent_columns,
               OfLatent{s, static_cast<int>(l.latent_columns - l.rope)});
}

#define TRAINX_LATENT_HEADS(T)                                            \
  template cudaError_t latent_heads(const LatentHeads<T>&, cudaStream_t); \
  template cudaError_t latent_heads_backward(const LatentHeadsBackward<T>&, cudaStream_t);
TRAINX_LATENT_HEADS(float)
TRAINX_LATENT_HEADS(Bf16)
TRAINX_LATENT_HEADS(Fp16)
#undef TRAINX_LATENT_HEADS

}  // namespace trainx::kernels
