// What the tests of attention have in common, whoever computes it: operands that every type holds
// exactly, samples of several lengths, errors, and what padding must be.
#pragma once
#include "gpu/operands.hpp"
#include <cstdint>

namespace trainx::kernels {

template <class T>
std::vector<T> narrowed(const std::vector<float>& x) {
  std::vector<T> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) narrow(x[i], out[i]);
  return out;
}
template <class T>
std::vector<float> widened(const std::vector<T>& x) {
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = widened(x[i]);
  return out;
}

/// Rounded to bf16, so that all types hold the same values.
inline std::vector<float> random_values(std::int64_t n, unsigned seed) {
  return widened(random_elements<Bf16>(n, seed));
}

/// Tokens of each sample: by turns three quarters, all and none; without padding all.
inline std::vector<std::int32_t> sample_lengths(std::int64_t batch, std::int64_t tokens,
                                                bool padded) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t b = 0; b < batch; ++b)
    lengths.push_back(static_cast<std::int32_t>(!padded || b % 3 == 1 ? tokens
                                                : b % 3 == 0          ? tokens * 3 / 4
                                                                      : 0));
  return lengths;
}

/// Document starts with which a reference computes the last rows of a sample alone: the rows before
/// count as padding, whose keys and values are seen all the same.
inline std::vector<std::int32_t> starts_of_last_rows(std::int64_t past, std::int64_t rows) {
  std::vector<std::int32_t> starts(static_cast<std::size_t>(past), -1);
  starts.resize(static_cast<std::size_t>(past + rows), 0);
  return starts;
}

/// Which elements of [samples, tokens, width] lie past the length of their sample.
struct Padding {
  std::vector<std::int32_t> lengths;
  std::int64_t tokens, width;
  bool holds(std::int64_t element) const {
    return element / width % tokens >= lengths[static_cast<std::size_t>(element / width / tokens)];
  }
  void fill(std::vector<float>& x, float value) const {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (holds(static_cast<std::int64_t>(i))) x[i] = value;
  }
};

/// Outputs [samples, tokens, width] and gradients [samples, tokens, 3, width] are zero there.
inline void check_zeros(const Padding& padding, const std::vector<float>& out,
                        const std::vector<float>& d_qkv) {
  const auto width = static_cast<std::size_t>(padding.width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!padding.holds(static_cast<std::int64_t>(i))) continue;
    const std::size_t token = i / width;
    if (!(out[i] == 0)) FAIL("padding: out " << i << " is " << out[i]);
    for (std::size_t part = 0; part < 3; ++part)
      if (const float d = d_qkv[(token * 3 + part) * width + i % width]; !(d == 0))
        FAIL("padding: d_qkv of row " << token << " is " << d);
  }
}

/// Of elements `chosen` alone, relative to the norm of what is wanted. A NaN shows.
template <class Chosen>
double relative_error(const std::vector<float>& got, const std::vector<float>& want,
                      const Chosen& chosen) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!chosen(static_cast<std::int64_t>(i))) continue;
    difference += (static_cast<double>(got[i]) - want[i]) * (static_cast<double>(got[i]) - want[i]);
    norm += static_cast<double>(want[i]) * want[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}
inline double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  return relative_error(got, want, [](std::int64_t) { return true; });
}

}  // namespace trainx::kernels
