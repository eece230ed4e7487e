// Seeded data of ranks, what collectives make of it written as plain loops in rank order, and calls
// checked against them.
#pragma once
#include "core/half.hpp"
#include "comm/communicator.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>

namespace collectives {

using namespace trainx;
using Bytes = std::vector<std::byte>;

/// Numbers of every size that the type holds, the same wherever they are asked for.
inline Bytes data_of(int rank, std::int64_t elements, DType dtype, std::uint64_t seed) {
  std::uint64_t state = seed * 1000 + static_cast<std::uint64_t>(rank) + 1;
  // xorshift: what the standard library has takes longer than the collectives do
  const auto random = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  };
  Bytes bytes(static_cast<std::size_t>(elements * size_of(dtype)));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = random() * 0x9e3779b97f4a7c15;
    const double x = (static_cast<double>(bits >> 11) * 0x1p-52 - 1) * (bits & 1   ? 0x1p10
                                                                        : bits & 2 ? 1
                                                                                   : 0x1p-10);
    std::byte* at = bytes.data() + i * size_of(dtype);
    const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    if (dtype == DType::f64)
      put(x);
    else if (dtype == DType::f32)
      put(static_cast<float>(x));
    else if (dtype == DType::bf16)
      put(round_to_bf16(static_cast<float>(x)));
    else if (dtype == DType::f16)
      put(round_to_f16(static_cast<float>(x)));
    else
      put(static_cast<std::int64_t>(bits >> 8));  // the sum over up to 128 ranks fits
  }
  return bytes;
}

template <class T>
T read(const Bytes& b, std::int64_t i) {
  T x;
  std::memcpy(&x, b.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return x;
}
template <class T>
void write(Bytes& b, std::int64_t i, T x) {
  std::memcpy(b.data() + i * static_cast<std::int64_t>(sizeof(T)), &x, sizeof(T));
}

template <class Stored, class Widen, class Round>
void add_up(Bytes& sum, const std::vector<Bytes>& of, std::int64_t elements, Widen widen,
            Round round) {
  for (std::int64_t i = 0; i < elements; ++i) {
    auto s = widen(read<Stored>(of[0], i));
    for (std::size_t r = 1; r < of.size(); ++r) s = s + widen(read<Stored>(of[r], i));
    write<Stored>(sum, i, round(s));
  }
}

inline Bytes sum_of(const std::vector<Bytes>& of, DType dtype) {
  Bytes sum(of[0].size());
  const std::int64_t n = static_cast<std::int64_t>(sum.size()) / size_of(dtype);
  const auto same = [](auto x) { return x; };
  if (dtype == DType::f64) add_up<double>(sum, of, n, same, same);
  if (dtype == DType::f32) add_up<float>(sum, of, n, same, same);
  if (dtype == DType::i64) add_up<std::int64_t>(sum, of, n, same, same);
  if (dtype == DType::bf16) add_up<std::uint16_t>(sum, of, n, widen_bf16, round_to_bf16);
  if (dtype == DType::f16) add_up<std::uint16_t>(sum, of, n, widen_f16, round_to_f16);
  return sum;
}

inline void same(const Bytes& got, const Bytes& want, const std::string& what) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i])
      throw std::runtime_error(what + " differs at byte " + std::to_string(i) + " of " +
                               std::to_string(want.size()));
}

/// One call of a kind (0 to 8), checked. Throws where the result differs.
inline void check_call(comm::Communicator& c, int kind, std::int64_t n, DType dtype, int root,
                       std::uint64_t seed) {
  const int rank = c.rank(), size = c.size();
  const std::int64_t width = size_of(dtype);
  const std::string what = std::string(c.transport()) + ", " + std::to_string(size) +
                           " ranks, kind " + std::to_string(kind) + ", " + std::to_string(n) +
                           " elements of " + std::string(name_of(dtype)) + ", root " +
                           std::to_string(root) + ", seed " + std::to_string(seed);
  const std::int64_t elements = kind == 3 || kind == 4 || kind == 7 ? n * size : n;
  std::vector<Bytes> all;
  for (int r = 0; r < size; ++r) all.push_back(data_of(r, elements, dtype, seed));
  const auto shard_of = [&](const Bytes& full, int r) {
    return Bytes(full.begin() + r * n * width, full.begin() + (r + 1) * n * width);
  };
  Bytes mine = all[rank];
  if (kind == 0) {
    c.all_reduce(mine.data(), n, dtype);
    same(mine, sum_of(all, dtype), what);
  } else if (kind == 1) {
    c.reduce(mine.data(), n, dtype, root);
    same(mine, rank == root ? sum_of(all, dtype) : all[rank], what);
  } else if (kind == 2) {
    c.broadcast(mine.data(), n * width, root);
    same(mine, all[root], what);
  } else if (kind == 3) {
    Bytes shard(static_cast<std::size_t>(n * width));
    c.reduce_scatter(mine.data(), shard.data(), n, dtype);
    same(shard, shard_of(sum_of(all, dtype), rank), what);
    c.reduce_scatter(mine.data(), mine.data() + rank * n * width, n, dtype);  // in place
    same(shard_of(mine, rank), shard, what + ", in place");
  } else if (kind == 4) {
    Bytes full(mine.size());
    c.all_gather(all[rank].data() + rank * n * width, full.data(), n * width);
    for (int r = 0; r < size; ++r) same(shard_of(full, r), shard_of(all[r], r), what);
    c.all_gather(mine.data() + rank * n * width, mine.data(), n * width);  // in place
    same(mine, full, what + ", in place");
  } else if (kind == 5 && size > 1) {  // around the ring
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    Bytes got(mine.size());
    if (rank % 2 == 0) c.send(mine.data(), n * width, next);
    c.recv(got.data(), n * width, before);
    if (rank % 2 == 1) c.send(mine.data(), n * width, next);
    same(got, all[before], what);
  } else if (kind == 6 && size > 1) {  // from the root to one other
    const int to = (root + 1) % size;
    if (rank == root) c.send(mine.data(), n * width, to);
    if (rank == to) c.recv(mine.data(), n * width, root);
    same(mine, rank == to ? all[root] : all[rank], what);
  } else if (kind == 7) {
    Bytes got(mine.size());
    c.all_to_all(mine.data(), got.data(), n * width);
    for (int r = 0; r < size; ++r) same(shard_of(got, r), shard_of(all[r], rank), what);
    same(mine, all[rank], what + ", what was sent");
  } else if (kind == 8 && dtype == DType::f32) {
    Bytes largest = all[0];
    for (std::int64_t i = 0; i < n; ++i)
      for (const Bytes& of : all)
        write<float>(largest, i, std::max(read<float>(largest, i), read<float>(of, i)));
    c.all_reduce_max(reinterpret_cast<float*>(mine.data()), n);
    same(mine, largest, what);
    if (n == 0) return;
    float one = rank == root ? std::numeric_limits<float>::quiet_NaN() : 1;
    c.all_reduce_max(&one, 1);
    if (!std::isnan(one)) throw std::runtime_error(what + ": a NaN is lost");
  }
}

}  // namespace collectives
