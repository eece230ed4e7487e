// What a check or a timing of the Hopper attention computes.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include "bench/hopper_attention/harness.hpp"

namespace trainx::bench {

struct Shape {
  int batch, tokens, heads, head_size;
  bool causal;
  int key_heads = 0;  // 0: as many as heads
  // packed: [B, T, H + 2 K, D]; else [B, H or K, T, D] each
  bool packed = true;
  // of queries; large ones make scores of a row differ by more than exponentials can hold
  float query_scale = 1;
  bool growing = false;  // keys grow with their distance from the end: maxima move in every tile
  int window = 0;
  int document = 0;      // tokens of one on average, with padding behind the last; 0: one for a row
  bool padded = false;   // samples have fewer tokens than rows
  bool dropped = false;  // a tenth of probabilities is

  std::string name() const {
    char text[200], of_keys[24] = "", spans[60] = "";
    if (padded) std::snprintf(spans, sizeof spans, " padded");
    if (dropped)
      std::snprintf(spans + std::strlen(spans), sizeof spans - std::strlen(spans), " dropped");
    if (key_heads > 0) std::snprintf(of_keys, sizeof of_keys, " K %d", key_heads);
    if (window > 0) std::snprintf(spans, sizeof spans, " window %d", window);
    if (document > 0)
      std::snprintf(spans + std::strlen(spans), sizeof spans - std::strlen(spans),
                    " documents of %d", document);
    std::snprintf(text, sizeof text, "B %d T %d H %d%s D %d%s%s%s%s%s", batch, tokens, heads,
                  of_keys, head_size, causal ? " causal" : "", spans, packed ? "" : " [B, H, T, D]",
                  query_scale > 1 ? " steep" : "", growing ? " growing" : "");
    return text;
  }
  hopper::Size size() const {
    hopper::Size s;
    s.batch = batch, s.tokens = tokens, s.heads = heads, s.head_size = head_size, s.causal = causal;
    s.key_value_heads = key_heads, s.window = window, s.dropped = dropped;
    s.scale = 1 / std::sqrt(static_cast<double>(head_size));
    return s;
  }
  int heads_of(int part) const { return part == 0 || key_heads == 0 ? heads : key_heads; }
  std::size_t elements(int part = 0) const {
    return static_cast<std::size_t>(batch) * tokens * heads_of(part) * head_size;
  }
  std::size_t all_elements() const { return elements(0) + 2 * elements(1); }
  std::size_t rows() const { return static_cast<std::size_t>(batch) * tokens * heads; }
  /// [B, T], random documents: where in the row a token's begins; -1: padding.
  std::vector<std::int32_t> starts(std::uint64_t seed) const {
    Random numbers(seed);
    std::vector<std::int32_t> to;
    for (int b = 0; b < batch; ++b) {
      const int padding = b % 2 ? numbers.whole(1, std::min(tokens / 3 + 1, 2 * document)) : 0;
      int start = 0, end = 0;
      for (int t = 0; t < tokens; ++t) {
        if (t == end) start = t, end = t + numbers.whole(1, 2 * document);
        to.push_back(t < tokens - padding ? start : -1);
      }
    }
    return to;
  }
  /// [B], of padded samples: by turns all, one, none, and some number of tokens.
  std::vector<std::int32_t> lengths(std::uint64_t seed) const {
    Random numbers(seed);
    std::vector<std::int32_t> to;
    for (int b = 0; b < batch; ++b) {
      const int some = numbers.whole(1, tokens);
      to.push_back(b % 4 == 0 ? tokens : b % 4 == 1 ? 1 : b % 4 == 2 ? 0 : some);
    }
    return to;
  }
  /// [B], in the endless stream of samples.
  std::vector<std::int64_t> positions() const {
    std::vector<std::int64_t> to;
    for (int b = 0; b < batch; ++b) to.push_back(7'000'000'000 + 5 * b);
    return to;
  }
  /// Of keys that all queries see, times heads.
  double pairs(const std::vector<std::int32_t>& starts) const {
    double all = 0;
    for (int b = 0; b < batch; ++b)
      for (int t = 0; t < tokens; ++t) {
        int first = document == 0 ? 0 : starts[static_cast<std::size_t>(b) * tokens + t];
        if (first < 0) continue;
        if (window > 0) first = std::max(first, t - window + 1);
        all += causal ? t + 1 - first : tokens;
      }
    return all * heads;
  }
};

}  // namespace trainx::bench
