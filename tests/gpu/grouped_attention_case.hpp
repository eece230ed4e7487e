// Operands, results and errors of attention with grouped heads, for the tests of whoever computes
// it.
#pragma once
#include "gpu/attention_case.hpp"
#include "kernels/attention/attention.hpp"
#include <algorithm>
#include <cmath>
#include <random>

namespace trainx::kernels::grouped_case {

struct Case {
  AttentionSize size;
  std::vector<std::int32_t> starts = {};  // empty: a row is one document

  std::int64_t rows() const { return size.batch * size.tokens; }
  std::int64_t out_elements() const { return rows() * size.heads * size.head_size; }
  std::int64_t qkv_elements() const {
    return rows() * (size.heads + 2 * size.key_value_heads) * size.head_size;
  }
  std::int64_t statistics() const { return rows() * size.heads; }
  bool pads(std::int64_t row) const {
    return !starts.empty() && starts[static_cast<std::size_t>(row)] < 0;
  }
  std::string text() const {
    return "B " + std::to_string(size.batch) + " T " + std::to_string(size.tokens) + " H " +
           std::to_string(size.heads) + " K " + std::to_string(size.key_value_heads) + " D " +
           std::to_string(size.head_size) + " window " + std::to_string(size.window) + " scale " +
           std::to_string(size.scale) + " cap " + std::to_string(size.soft_cap) +
           (starts.empty() ? "" : " documents");
  }
};

inline AttentionSize size_of(std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                             std::int64_t key_value_heads, std::int64_t head_size,
                             std::int64_t window = 0) {
  AttentionSize s{batch, tokens, heads, head_size, true};
  s.key_value_heads = key_value_heads;
  s.window = window;
  return s;
}

/// Documents of up to `most` tokens until a row is full, or earlier.
inline std::vector<std::int32_t> random_starts(const AttentionSize& s, std::int64_t most,
                                               unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> starts;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    std::int64_t t = 0;
    while (t < s.tokens && random() % 12 > 0) {
      const std::int64_t n = 1 + random() % std::min(s.tokens - t, most);
      starts.insert(starts.end(), static_cast<std::size_t>(n), static_cast<std::int32_t>(t));
      t += n;
    }
    starts.insert(starts.end(), static_cast<std::size_t>(s.tokens - t), -1);
  }
  return starts;
}

struct Inputs {
  std::vector<float> qkv, d_out;
};
struct Results {
  std::vector<float> out, lse, d_qkv;
};

inline Inputs inputs_of(const Case& c, unsigned seed) {
  return {random_values(c.qkv_elements(), seed), random_values(c.out_elements(), seed + 1)};
}

/// Outputs and scratch hold garbage before.
template <class T>
struct Operands {
  Operands(const Case& c, const Inputs& in, std::size_t shift)
      : qkv(narrowed<T>(in.qkv), shift),
        d_out(narrowed<T>(in.d_out), shift),
        out(narrowed<T>(std::vector<float>(in.d_out.size(), 77)), shift),
        d_qkv(narrowed<T>(std::vector<float>(in.qkv.size(), 77)), shift),
        lse(std::vector<float>(static_cast<std::size_t>(c.statistics()), std::nanf("")), shift),
        delta(lse.host(), shift),
        starts(c.starts, shift),
        ends(std::vector<std::int32_t>(c.starts.size(), 1 << 30), shift),
        has_documents(!c.starts.empty()) {}
  OnDevice<T> qkv, d_out, out, d_qkv;
  OnDevice<float> lse, delta;
  OnDevice<std::int32_t> starts, ends;
  bool has_documents;

  Results results() const {
    delta.host(), ends.host();  // their guards
    return {widened(out.host()), lse.host(), widened(d_qkv.host())};
  }
};

/// What a gradient of q or k may differ by, over what `out` may. Of scores of few keys most of it
/// cancels. Scores have sums of D products, whose rounding grows with scale x sqrt(D), and a cap
/// divides them before their tanh: PyTorch's fp32 gradients under cap 0.5, scale 1 and D 256 lie up
/// to 3.6e-6 from those of double precision in 20 draws, 0.7e-6 under cap 5 and D 64.
inline double score_errors(const AttentionSize& s) {
  if (s.tokens < 4) return 4;
  if (s.soft_cap == 0) return 1.5;
  const double root = std::sqrt(static_cast<double>(s.head_size));
  const double scale = s.scale == 0 ? 1 / root : s.scale;
  return 1.5 * std::max(1.0, scale * root / s.soft_cap / 16);
}

inline void check(const Case& c, const Results& got, const Results& want, double tolerance,
                  const char* type) {
  INFO(type << " " << c.text());
  const std::int64_t D = c.size.head_size, H = c.size.heads, K = c.size.key_value_heads,
                     heads = H + 2 * K;
  CHECK(relative_error(got.out, want.out) <= tolerance);
  CHECK(relative_error(got.lse, want.lse) <= tolerance);
  for (int part = 0; part < 3; ++part) {
    INFO("gradient of "
         << "qkv"[part]);
    // a row of one token attends to itself alone: no gradient reaches q and k
    if (part < 2 && (c.size.tokens == 1 || c.size.window == 1)) continue;
    const double parts = part < 2 ? score_errors(c.size) : 1.5;
    CHECK(relative_error(got.d_qkv, want.d_qkv, [&](std::int64_t i) {
            const std::int64_t head = i / D % heads;
            return part == (head < H ? 0 : head < H + K ? 1 : 2);
          }) <= parts * tolerance);
  }
  for (const float x : got.d_qkv)
    if (!std::isfinite(x)) FAIL("a gradient is " << x);
  for (std::int64_t row = 0; row < c.rows(); ++row) {
    if (!c.pads(row)) continue;
    for (std::int64_t i = 0; i < heads * D; ++i)
      if (const float x = got.d_qkv[static_cast<std::size_t>(row * heads * D + i)]; !(x == 0))
        FAIL("padding: d_qkv of row " << row << " is " << x);
    for (std::int64_t i = 0; i < H * D; ++i)
      if (const float x = got.out[static_cast<std::size_t>(row * H * D + i)]; !(x == 0))
        FAIL("padding: out of row " << row << " is " << x);
  }
}

inline unsigned drawn_seed() {
  const unsigned seed = std::random_device{}();
  WARN("seed " << seed);
  return seed;
}

}  // namespace trainx::kernels::grouped_case
