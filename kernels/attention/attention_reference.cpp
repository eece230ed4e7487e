#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_dropout.hpp"
#include "kernels/attention/document_attention.hpp"
#include "kernels/attention/grouped_attention.hpp"
#include "kernels/attention/nearby_attention.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace trainx::kernels {

namespace {

double dot(const float* a, const float* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

struct Seen {
  std::int64_t from, end;
};

/// `seen_by(b, t)`: the keys that a token sees, none where it is padding.
template <class SeenBy>
void attend(const float* qkv, SeenBy seen_by, const float* d_out, float* out, float* lse,
            float* d_qkv, const AttentionSize& s) {
  const std::int64_t K = s.key_value_heads > 0 ? s.key_value_heads : s.heads, D = s.head_size,
                     out_row = s.heads * D, key_row = K * D, row = out_row + 2 * key_row;
  const double scale = s.scale > 0 ? s.scale : 1 / std::sqrt(static_cast<double>(D));
  const AttentionDropout dropout = attention_dropout(s.dropout);
  std::vector<double> p(static_cast<std::size_t>(s.tokens)), slope(p), factor(p.size(), 1),
      d_packed(static_cast<std::size_t>(s.tokens * row)), o(static_cast<std::size_t>(D));
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const float* packed = qkv + b * s.tokens * row;
    std::fill(d_packed.begin(), d_packed.end(), 0.0);
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t t = 0; t < s.tokens; ++t) {
        float* const o_row = out + (b * s.tokens + t) * out_row + h * D;
        float& row_lse = lse[(b * s.heads + h) * s.tokens + t];
        row_lse = 0;
        std::fill(o_row, o_row + D, 0.0f);
        const Seen seen = seen_by(b, t);
        if (seen.from == seen.end) continue;
        const std::int64_t key_at = out_row + h / (s.heads / K) * D;
        const auto key = [&](std::int64_t u) { return packed + u * row + key_at; };
        const auto value = [&](std::int64_t u) { return packed + u * row + key_at + key_row; };
        const float* query = packed + t * row + h * D;
        double largest = -HUGE_VAL, total = 0;
        for (std::int64_t u = seen.from; u < seen.end; ++u) {
          double score = scale * dot(query, key(u), D);
          slope[static_cast<std::size_t>(u)] = scale;
          if (s.soft_cap > 0) {
            const double capped = std::tanh(score / s.soft_cap);
            score = s.soft_cap * capped;
            slope[static_cast<std::size_t>(u)] *= 1 - capped * capped;
          }
          largest = std::max(largest, p[static_cast<std::size_t>(u)] = score);
        }
        for (std::int64_t u = seen.from; u < seen.end; ++u)
          total += p[static_cast<std::size_t>(u)] =
              std::exp(p[static_cast<std::size_t>(u)] - largest);
        row_lse = static_cast<float>(largest + std::log(total));
        std::fill(o.begin(), o.end(), 0.0);
        if (s.dropout) {
          const DroppedQuery dropped = dropped_query(dropout, dropout.positions[b], h, t);
          for (std::int64_t u = seen.from; u < seen.end; ++u)
            factor[static_cast<std::size_t>(u)] =
                dropped_factor(dropout, dropped_words(dropout, dropped, u / 4), u);
        }
        for (std::int64_t u = seen.from; u < seen.end; ++u) {
          p[static_cast<std::size_t>(u)] /= total;
          const double weight = p[static_cast<std::size_t>(u)] *
                                factor[static_cast<std::size_t>(u)];
          for (std::int64_t d = 0; d < D; ++d)
            o[static_cast<std::size_t>(d)] += weight * value(u)[d];
        }
        for (std::int64_t d = 0; d < D; ++d)
          o_row[d] = static_cast<float>(o[static_cast<std::size_t>(d)]);
        if (!d_qkv) continue;
        const float* dy = d_out + (b * s.tokens + t) * out_row + h * D;
        double delta = 0;  // sum over keys of p dp = dy . o
        for (std::int64_t d = 0; d < D; ++d) delta += dy[d] * o[static_cast<std::size_t>(d)];
        for (std::int64_t u = seen.from; u < seen.end; ++u) {
          const double probability = p[static_cast<std::size_t>(u)],
                       kept = factor[static_cast<std::size_t>(u)],
                       ds = probability * (kept * dot(dy, value(u), D) - delta) *
                            slope[static_cast<std::size_t>(u)];
          double* const d_key = d_packed.data() + u * row + key_at;
          for (std::int64_t d = 0; d < D; ++d) {
            d_packed[static_cast<std::size_t>(t * row + h * D + d)] += ds * key(u)[d];
            d_key[d] += ds * query[d];
            d_key[key_row + d] += probability * kept * dy[d];
          }
        }
      }
    if (d_qkv)
      std::transform(d_packed.begin(), d_packed.end(), d_qkv + b * s.tokens * row,
                     [](double d) { return static_cast<float>(d); });
  }
}

}  // namespace

void attention_reference(const float* qkv, const std::int32_t* lengths, const float* d_out,
                         float* out, float* lse, float* d_qkv, const AttentionSize& s) {
  const auto seen_by = [&](std::int64_t b, std::int64_t t) {
    const std::int64_t length = lengths ? lengths[b] : s.tokens;
    return Seen{0, t >= length ? 0 : s.causal ? t + 1 : length};
  };
  attend(qkv, seen_by, d_out, out, lse, d_qkv, s);
}

void document_attention_reference(const float* qkv, const std::int32_t* starts, const float* d_out,
                                  float* out, float* lse, float* d_qkv, const AttentionSize& s) {
  const auto seen_by = [&](std::int64_t b, std::int64_t t) {
    const std::int64_t start = starts[b * s.tokens + t];
    return start < 0 ? Seen{0, 0} : Seen{start, t + 1};
  };
  attend(qkv, seen_by, d_out, out, lse, d_qkv, s);
}

void grouped_attention_reference(const float* qkv, const std::int32_t* starts, const float* d_out,
                                 float* out, float* lse, float* d_qkv, const AttentionSize& s) {
  const auto seen_by = [&](std::int64_t b, std::int64_t t) {
    const std::int64_t start = starts ? starts[b * s.tokens + t] : 0;
    if (start < 0) return Seen{0, 0};
    return Seen{s.window > 0 ? std::max(start, t - s.window + 1) : start, t + 1};
  };
  attend(qkv, seen_by, d_out, out, lse, d_qkv, s);
}

void nearby_attention_reference(const float* qkv, const std::int32_t* lengths, const float* d_out,
                                float* out, float* lse, float* d_qkv, const AttentionSize& s) {
  const std::int64_t window = s.window > 0 ? s.window : s.tokens;
  const auto seen_by = [&](std::int64_t b, std::int64_t t) {
    const std::int64_t length = lengths ? lengths[b] : s.tokens;
    if (t >= length) return Seen{0, 0};
    return Seen{std::max<std::int64_t>(0, t - window + 1), std::min(length, t + window)};
  };
  attend(qkv, seen_by, d_out, out, lse, d_qkv, s);
}

}  // namespace trainx::kernels
