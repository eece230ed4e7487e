// Products of experts written out on the device, one thread for an element, sums in double
// precision: what the fast kernels are checked against.
#pragma once
#include <cstdint>
#include "kernels/experts/grouped_linear.hpp"

namespace trainx::bench::reference {

using namespace trainx::kernels;

enum class Which { forward, input, weight };

/// The expert of a row, whose offsets are [experts + 1].
__device__ inline int expert_of(const GroupedSizes& s, std::int64_t row) {
  int e = 0;
  while (s.offsets[e + 1] <= row) ++e;
  return e;
}

template <class T>
struct Operands {
  GroupedSizes sizes;
  const T *x, *dy, *weight;
};

/// Element i of y [R, out], dx [R, in] or d_weight [E, out, in].
template <class T>
__device__ double element(Which which, const Operands<T>& op, std::int64_t i) {
  const GroupedSizes& s = op.sizes;
  const auto of = [](const T* data, std::int64_t at) {
    return static_cast<double>(widened(data[at]));
  };
  double sum = 0;
  if (which == Which::forward) {
    const std::int64_t r = i / s.out, o = i % s.out, e = expert_of(s, r);
    for (std::int64_t k = 0; k < s.in; ++k)
      sum += of(op.x, r * s.in + k) * of(op.weight, (e * s.out + o) * s.in + k);
  } else if (which == Which::input) {
    const std::int64_t r = i / s.in, n = i % s.in, e = expert_of(s, r);
    for (std::int64_t k = 0; k < s.out; ++k)
      sum += of(op.dy, r * s.out + k) * of(op.weight, (e * s.out + k) * s.in + n);
  } else {
    const std::int64_t e = i / (s.out * s.in), o = i / s.in % s.out, n = i % s.in;
    for (std::int64_t r = s.offsets[e]; r < s.offsets[e + 1]; ++r)
      sum += of(op.dy, r * s.out + o) * of(op.x, r * s.in + n);
  }
  return sum;
}

/// Elements at[0], at[1], ...; without `at` all.
template <class T>
__global__ void elements(Which which, Operands<T> op, const std::int64_t* at, std::int64_t count,
                         double* to) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    to[i] = element(which, op, at ? at[i] : i);
}

/// Random values of variance scale^2 (a sum of four uniform ones), the same on every machine.
template <class T>
__global__ void fill(T* to, std::int64_t count, std::uint64_t seed, float scale) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    std::uint64_t z = (static_cast<std::uint64_t>(i) + seed * 0x1000003ull) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    int sum = 0;
    for (int part = 0; part < 4; ++part, z >>= 16) sum += static_cast<int>(z & 0xffff);
    narrow(static_cast<float>(sum - 2 * 0xffff) * (1.7320508f / 65536) * scale, to[i]);
  }
}

}  // namespace trainx::bench::reference
