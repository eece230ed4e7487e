// What the checks and timings of the Hopper attention share: device memory, random bf16, comparison
// with a report of where values differ.
#pragma once
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>
#include "kernels/attention/hopper/hopper_attention.hpp"

namespace trainx::bench {

namespace hopper = trainx::kernels::hopper;
using trainx::kernels::Bf16;

/// What a kernel waited for in vain (hopper::watch_waits); null without TRAINX_CHECK_WAITS.
inline std::uint32_t* wait_words = nullptr;

inline void print_wait() {
  static const char* const names[] = {
      "nothing",         "query",           "key_copied",   "value_copied", "key_free",
      "value_free",      "block_copied",    "query_copied", "d_out_copied", "query_free",
      "d_out_free",      "d_score_written", "d_score_free", "keys_read",    "turn",
      "part_ready",      "part_written",    "item_given",   "item_free",    "keys_free",
      "operands_copied", "operands_free",   "tile_given",   "tile_read",    "sums_written",
      "sums_finished"};
  if (!wait_words || wait_words[0] == 0 || wait_words[0] >= std::size(names)) return;
  std::printf("    waited too long for %s: block %u, thread %u, parity or turn %u\n",
              names[wait_words[0]], wait_words[1], wait_words[2], wait_words[3]);
}

/// Ends the process: after an error of a kernel its CUDA context is of no use.
inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("  ERROR %s: %s\n", what, cudaGetErrorString(error));
  print_wait();
  std::fflush(stdout);
  std::_Exit(3);
}

template <class T>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) {
    require(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(T)), "cudaMalloc");
    require(cudaMemset(data_, 0, count * sizeof(T)), "cudaMemset");
  }
  explicit Device(const std::vector<T>& from) : Device(from.size()) {
    require(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copy");
  }
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  T* get() const { return data_; }
  std::size_t size() const { return count_; }
  /// All bytes 0xff: NaN, where nothing is written.
  void spoil() { require(cudaMemset(data_, 0xff, count_ * sizeof(T)), "cudaMemset"); }
  std::vector<T> host() const {
    std::vector<T> to(count_);
    require(cudaMemcpy(to.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "kernel");
    return to;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// The same numbers on every machine (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// Of mean 0 and variance 1, a sum of four uniform numbers; at most 3.5.
  float normal() {
    std::uint64_t z = next();
    int sum = 0;
    for (int i = 0; i < 4; ++i, z >>= 16) sum += static_cast<int>(z & 0xffff);
    return static_cast<float>(sum - 2 * 0xffff) * (1.7320508f / 65536);
  }
  int whole(int from, int to) {
    return from + static_cast<int>(next() % static_cast<std::uint64_t>(to - from + 1));
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

inline Bf16 bf16(float x) {
  Bf16 rounded;
  trainx::kernels::narrow(x, rounded);
  return rounded;
}

struct Difference {
  std::size_t bad = 0;
  double rms = 0;  // of the errors, relative to the rms of what is expected
};

/// Compares in order of the index i, prints the first values that differ and in which residues of
/// rows and columns they lie; position(i) gives row and column of an element.
template <class Got, class Position>
Difference compare(const char* what, const std::vector<double>& expected, Got got,
                   double rms_allowed, double of_rms, double of_value, Position position) {
  Difference found;
  double squares = 0, errors = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) squares += expected[i] * expected[i];
  const double rms =
      std::sqrt(squares / static_cast<double>(std::max<std::size_t>(expected.size(), 1)));
  std::vector<std::size_t> bad_rows(64), bad_columns(16);
  int shown = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = got(i), error = value - expected[i];
    errors += error * error;
    if (std::abs(error) <= of_rms * rms + of_value * std::abs(expected[i])) continue;
    ++found.bad;
    const auto [row, column] = position(i);
    ++bad_rows[static_cast<std::size_t>(row % 64)];
    ++bad_columns[static_cast<std::size_t>(column / 8 % 16)];
    if (shown++ < 12)
      std::printf("    %s [row %ld, column %ld]: expected %.6g, found %.6g\n", what,
                  static_cast<long>(row), static_cast<long>(column), expected[i], value);
  }
  found.rms = rms > 0 ? std::sqrt(errors / static_cast<double>(expected.size())) / rms : 0;
  if (found.bad > 0) {
    std::printf("    %s: %zu of %zu differ; by row %% 64:", what, found.bad, expected.size());
    for (std::size_t n : bad_rows) std::printf(" %zu", n);
    std::printf("; by column / 8 %% 16:");
    for (std::size_t n : bad_columns) std::printf(" %zu", n);
    std::printf("\n");
  } else if (!(found.rms <= rms_allowed)) {
    std::printf("    %s: rms of errors is %.3g of the rms of values, allowed %.3g\n", what,
                found.rms, rms_allowed);
    found.bad = 1;
  }
  return found;
}

/// Counts checks of one process.
struct Checks {
  int done = 0, failed = 0;
  void say(bool good, const std::string& what) {
    ++done;
    failed += !good;
    std::printf("%s %s\n", good ? "ok  " : "FAIL", what.c_str());
    std::fflush(stdout);
  }
};

}  // namespace trainx::bench
