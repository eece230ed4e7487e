// Attention forward and backward written out, one block for a row, sums in double precision: what
// the fast kernels are checked against.
#pragma once
#include <cmath>
#include <cstdint>
#include "bench/hopper_attention/harness.hpp"

namespace trainx::bench {

/// Exact results, [B, T, H, D] each, d_key and d_value [B, T, K, D]; lse [B, H, T].
struct Exact {
  double *out, *lse, *d_query, *d_key, *d_value;
};

namespace reference {

using namespace hopper;

constexpr int threads = 128;

__device__ inline double number(const ConstRows& rows, long b, long t, long h, long d) {
  const std::uint32_t bits = rows.data[b * rows.batch + t * rows.token + h * rows.head + d].bits;
  return __uint_as_float(bits << 16);
}
// of row t of head h and row u of its key head k
__device__ inline double dot(const ConstRows& x, long t, long h, const ConstRows& y, long u, long k,
                             long b, long count) {
  double sum = 0;
  for (long d = 0; d < count; ++d) sum += number(x, b, t, h, d) * number(y, b, u, k, d);
  return sum;
}
template <class Join>
__device__ double over_block(double mine, Join join) {
  __shared__ double all[threads];
  __syncthreads();
  all[threadIdx.x] = mine;
  __syncthreads();
  for (int i = 1; i < threads; ++i) mine = i == 1 ? join(all[0], all[1]) : join(mine, all[i]);
  return mine;
}

// Block x is token t of head h of sample b; k is the key head of h.
struct Row {
  long b, t, h, k, at, lse;
  __device__ explicit Row(const Size& s)
      : b(blockIdx.x / (s.tokens * s.heads)),
        t(blockIdx.x / s.heads % s.tokens),
        h(blockIdx.x % s.heads),
        k(h / (s.heads / s.key_value_heads)),
        at(static_cast<long>(blockIdx.x) * s.head_size),
        lse((b * s.heads + h) * s.tokens + t) {}
};

/// Of the keys that token t of sample b sees.
struct Seen {
  long first, end;
  template <class Pass>
  __device__ Seen(const Pass& pass, const Size& s, long b, long t)
      : first(pass.starts ? pass.starts[b * s.tokens + t] : 0),
        end(s.causal       ? t + 1
            : pass.lengths ? pass.lengths[b]
                           : s.tokens) {
    if (first < 0 || (pass.lengths && t >= end)) first = end;
    if (s.window > 0 && first < t - s.window + 1) first = t - s.window + 1;
  }
  __device__ bool has(long u) const { return u >= first && u < end; }
};

/// 1 where nothing is dropped.
template <class Pass>
__device__ double factor(const Pass& pass, const Row& of, long h, long t, long u) {
  if (!pass.dropout.positions) return 1;
  const trainx::kernels::DroppedQuery query =
      trainx::kernels::dropped_query(pass.dropout, pass.dropout.positions[of.b], h, t);
  return trainx::kernels::dropped_factor(
      pass.dropout, trainx::kernels::dropped_words(pass.dropout, query, u / 8), u);
}

__global__ void forward(Forward pass, Size s, Exact exact) {
  extern __shared__ double weights[];
  const Row row(s);
  const Seen seen(pass, s, row.b, row.t);
  double largest = -INFINITY, sum = 0;
  for (long u = seen.first + threadIdx.x; u < seen.end; u += threads) {
    weights[u] = s.scale * dot(pass.query, row.t, row.h, pass.key, u, row.k, row.b, s.head_size);
    largest = fmax(largest, weights[u]);
  }
  largest = over_block(largest, [](double x, double y) { return fmax(x, y); });
  for (long u = seen.first + threadIdx.x; u < seen.end; u += threads)
    sum += weights[u] = exp(weights[u] - largest);
  sum = over_block(sum, [](double x, double y) { return x + y; });
  for (long u = seen.first + threadIdx.x; u < seen.end; u += threads)
    weights[u] *= factor(pass, row, row.h, row.t, u);
  __syncthreads();
  const bool none = seen.first >= seen.end;
  if (threadIdx.x == 0) exact.lse[row.lse] = none ? 0 : largest + log(sum);
  for (long d = threadIdx.x; d < s.head_size; d += threads) {
    double out = 0;
    for (long u = seen.first; u < seen.end; ++u)
      out += weights[u] * number(pass.value, row.b, u, row.k, d);
    exact.out[row.at + d] = none ? 0 : out / sum;
  }
}

__device__ inline double weight(const Backward& pass, const Size& s, const Exact& exact,
                                const Row& of, long h, long t, long u) {
  return exp(s.scale * dot(pass.query, t, h, pass.key, u, of.k, of.b, s.head_size) -
             exact.lse[(of.b * s.heads + h) * s.tokens + t]);
}
// of the scaled score of t and u
__device__ inline double d_score(const Backward& pass, const Size& s, const Exact& exact,
                                 const Row& of, long h, long t, long u, double weight) {
  double delta = 0;
  for (long d = 0; d < s.head_size; ++d)
    delta += number(pass.d_out, of.b, t, h, d) *
             exact.out[((of.b * s.tokens + t) * s.heads + h) * s.head_size + d];
  const double d_weight = factor(pass, of, h, t, u) *
                          dot(pass.d_out, t, h, pass.value, u, of.k, of.b, s.head_size);
  return weight * (d_weight - delta);
}

__global__ void query_gradient(Backward pass, Size s, Exact exact) {
  extern __shared__ double slopes[];
  const Row row(s);
  const Seen seen(pass, s, row.b, row.t);
  for (long u = seen.first + threadIdx.x; u < seen.end; u += threads)
    slopes[u] =
        d_score(pass, s, exact, row, row.h, row.t, u, weight(pass, s, exact, row, row.h, row.t, u));
  __syncthreads();
  for (long d = threadIdx.x; d < s.head_size; d += threads) {
    double sum = 0;
    for (long u = seen.first; u < seen.end; ++u)
      sum += slopes[u] * number(pass.key, row.b, u, row.k, d);
    exact.d_query[row.at + d] = s.scale * sum;
  }
}

// Block x is token t of key head k of sample b.
__global__ void key_value_gradient(Backward pass, Size s, Exact exact) {
  extern __shared__ double both[];
  double *const weights = both, *const slopes = both + s.tokens;
  const long K = s.key_value_heads, group = s.heads / K;
  Row row(s);
  row.b = blockIdx.x / (s.tokens * K), row.t = blockIdx.x / K % s.tokens, row.k = blockIdx.x % K;
  const long first = s.causal ? row.t : 0;
  for (long d = threadIdx.x; d < s.head_size; d += threads)
    exact.d_key[row.at + d] = exact.d_value[row.at + d] = 0;
  for (long h = row.k * group; h < (row.k + 1) * group; ++h) {
    __syncthreads();
    for (long t = first + threadIdx.x; t < s.tokens; t += threads) {
      weights[t] = slopes[t] = 0;
      if (!Seen(pass, s, row.b, t).has(row.t)) continue;
      weights[t] = weight(pass, s, exact, row, h, t, row.t);
      slopes[t] = d_score(pass, s, exact, row, h, t, row.t, weights[t]);
      weights[t] *= factor(pass, row, h, t, row.t);
    }
    __syncthreads();
    for (long d = threadIdx.x; d < s.head_size; d += threads) {
      double of_key = 0, of_value = 0;
      for (long t = first; t < s.tokens; ++t) {
        of_key += slopes[t] * number(pass.query, row.b, t, h, d);
        of_value += weights[t] * number(pass.d_out, row.b, t, h, d);
      }
      exact.d_key[row.at + d] += s.scale * of_key;
      exact.d_value[row.at + d] += of_value;
    }
  }
}

}  // namespace reference

inline void reference_forward(const hopper::Forward& pass, hopper::Size size, const Exact& exact) {
  size.key_value_heads = size.of_keys();
  reference::forward<<<static_cast<unsigned>(size.batch * size.tokens * size.heads),
                       reference::threads, static_cast<std::size_t>(size.tokens) * 8>>>(pass, size,
                                                                                        exact);
  require(cudaDeviceSynchronize(), "reference forward");
}
/// After reference_forward.
inline void reference_backward(const hopper::Backward& pass, hopper::Size size,
                               const Exact& exact) {
  size.key_value_heads = size.of_keys();
  const auto blocks = static_cast<unsigned>(size.batch * size.tokens * size.heads);
  const auto bytes = static_cast<std::size_t>(size.tokens) * 8;
  reference::query_gradient<<<blocks, reference::threads, bytes>>>(pass, size, exact);
  reference::
      key_value_gradient<<<static_cast<unsigned>(size.batch * size.tokens * size.key_value_heads),
                           reference::threads, 2 * bytes>>>(pass, size, exact);
  require(cudaDeviceSynchronize(), "reference backward");
}

}  // namespace trainx::bench
