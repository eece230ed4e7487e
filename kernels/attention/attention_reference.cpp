#include "kernels/attention/across_attention.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_dropout.hpp"
#include "kernels/attention/biased_attention.hpp"
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

void narrow_to(float* to, const std::vector<double>& from) {
  std::transform(from.begin(), from.end(), to, [](double d) { return static_cast<float>(d); });
}

struct Seen {
  std::int64_t from, end;
};

/// Sums of gradients beside those of queries, keys and values; null: not wanted.
struct MoreGradients {
  float* biases = nullptr;  // [H, distances]
  float* sinks = nullptr;   // [H]
};

/// `seen_by(b, t)`: the keys that a token sees, none where it is padding.
template <class SeenBy>
void attend(const float* qkv, SeenBy seen_by, const float* d_out, float* out, float* lse,
            float* d_qkv, const AttentionSize& s, const MoreGradients& more = {}) {
  const bool remote = s.memory.keys != nullptr;
  const ScoreBiases& biases = s.biases;
  const std::int64_t K = s.key_value_heads > 0 ? s.key_value_heads : s.heads, D = s.head_size,
                     out_row = s.heads * D, key_values = K * D,
                     row = out_row + (remote ? 0 : 2 * key_values),
                     keys = remote ? s.memory.tokens : s.tokens,
                     key_row = remote ? 2 * key_values : row;
  const double scale = s.scale > 0 ? s.scale : 1 / std::sqrt(static_cast<double>(D));
  const AttentionDropout dropout = attention_dropout(s.dropout);
  std::vector<double> p(static_cast<std::size_t>(keys)), slope(p), factor(p.size(), 1),
      d_rows(static_cast<std::size_t>(s.tokens * row)),
      d_memory(static_cast<std::size_t>(remote ? keys * key_row : 0)),
      o(static_cast<std::size_t>(D)),
      d_biases(static_cast<std::size_t>(s.heads * biases.distances)),
      d_sinks(static_cast<std::size_t>(s.heads));
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const float *const rows = qkv + b * s.tokens * row, *const key_rows =
                                                            remote ? static_cast<const float*>(
                                                                         s.memory.keys) +
                                                                         b * keys * key_row
                                                                   : rows + out_row;
    double* const d_key_rows = remote ? d_memory.data() : d_rows.data() + out_row;
    std::fill(d_rows.begin(), d_rows.end(), 0.0);
    std::fill(d_memory.begin(), d_memory.end(), 0.0);
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t t = 0; t < s.tokens; ++t) {
        float* const o_row = out + (b * s.tokens + t) * out_row + h * D;
        float& row_lse = lse[(b * s.heads + h) * s.tokens + t];
        row_lse = 0;
        std::fill(o_row, o_row + D, 0.0f);
        const Seen seen = seen_by(b, t);
        if (seen.from == seen.end) continue;
        const std::int64_t key_at = h / (s.heads / K) * D;
        const auto key = [&](std::int64_t u) { return key_rows + u * key_row + key_at; };
        const auto value = [&](std::int64_t u) { return key(u) + key_values; };
        const auto distance = [&](std::int64_t u) {
          return static_cast<std::size_t>(h * biases.distances + u - t - biases.lowest);
        };
        const float* query = rows + t * row + h * D;
        const double sink = biases.sinks ? biases.sinks[h] : -HUGE_VAL;
        double largest = sink, total = 0;
        for (std::int64_t u = seen.from; u < seen.end; ++u) {
          double score = scale * dot(query, key(u), D);
          slope[static_cast<std::size_t>(u)] = scale;
          if (s.soft_cap > 0) {
            const double capped = std::tanh(score / s.soft_cap);
            score = s.soft_cap * capped;
            slope[static_cast<std::size_t>(u)] *= 1 - capped * capped;
          }
          if (biases.by_distance) score += biases.by_distance[distance(u)];
          largest = std::max(largest, p[static_cast<std::size_t>(u)] = score);
        }
        for (std::int64_t u = seen.from; u < seen.end; ++u)
          total += p[static_cast<std::size_t>(u)] =
              std::exp(p[static_cast<std::size_t>(u)] - largest);
        const double of_sink = std::exp(sink - largest);
        total += of_sink;
        row_lse = static_cast<float>(largest + std::log(total));
        std::fill(o.begin(), o.end(), 0.0);
        if (s.dropout) {
          const DroppedQuery dropped = dropped_query(dropout, dropout.positions[b], h, t);
          for (std::int64_t u = seen.from; u < seen.end; ++u)
            factor[static_cast<std::size_t>(u)] =
                dropped_factor(dropout, dropped_words(dropout, dropped, u / 8), u);
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
        d_sinks[static_cast<std::size_t>(h)] -= of_sink / total * delta;
        for (std::int64_t u = seen.from; u < seen.end; ++u) {
          const double probability = p[static_cast<std::size_t>(u)],
                       kept = factor[static_cast<std::size_t>(u)],
                       d_score = probability * (kept * dot(dy, value(u), D) - delta),
                       ds = d_score * slope[static_cast<std::size_t>(u)];
          if (biases.by_distance) d_biases[distance(u)] += d_score;
          double* const d_key = d_key_rows + u * key_row + key_at;
          for (std::int64_t d = 0; d < D; ++d) {
            d_rows[static_cast<std::size_t>(t * row + h * D + d)] += ds * key(u)[d];
            d_key[d] += ds * query[d];
            d_key[key_values + d] += probability * kept * dy[d];
          }
        }
      }
    if (!d_qkv) continue;
    narrow_to(d_qkv + b * s.tokens * row, d_rows);
    if (remote) narrow_to(static_cast<float*>(s.memory.d_keys) + b * keys * key_row, d_memory);
  }
  if (more.biases) narrow_to(more.biases, d_biases);
  if (more.sinks) narrow_to(more.sinks, d_sinks);
}

/// Where a row holds several texts one behind the other; `starts` null: one.
auto seen_in_documents(const std::int32_t* starts, const AttentionSize& s) {
  return [starts, &s](std::int64_t b, std::int64_t t) {
    const std::int64_t start = starts ? starts[b * s.tokens + t] : 0;
    if (start < 0) return Seen{0, 0};
    return Seen{s.window > 0 ? std::max(start, t - s.window + 1) : start, t + 1};
  };
}

/// On both sides, of the first lengths[b] tokens; `lengths` null: of all.
auto seen_nearby(const std::int32_t* lengths, const AttentionSize& s) {
  return [lengths, &s](std::int64_t b, std::int64_t t) {
    const std::int64_t length = lengths ? lengths[b] : s.tokens,
                       window = s.window > 0 ? s.window : s.tokens;
    if (t >= length) return Seen{0, 0};
    return Seen{std::max<std::int64_t>(0, t - window + 1), std::min(length, t + window)};
  };
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
  attend(qkv, seen_in_documents(starts, s), d_out, out, lse, d_qkv, s);
}

void grouped_attention_reference(const float* qkv, const std::int32_t* starts, const float* d_out,
                                 float* out, float* lse, float* d_qkv, const AttentionSize& s) {
  attend(qkv, seen_in_documents(starts, s), d_out, out, lse, d_qkv, s);
}

void nearby_attention_reference(const float* qkv, const std::int32_t* lengths, const float* d_out,
                                float* out, float* lse, float* d_qkv, const AttentionSize& s) {
  attend(qkv, seen_nearby(lengths, s), d_out, out, lse, d_qkv, s);
}

void biased_attention_reference(const float* qkv, const std::int32_t* seen, const float* d_out,
                                float* out, float* lse, float* d_qkv, float* d_biases,
                                float* d_sinks, const AttentionSize& s) {
  const MoreGradients more{d_biases, d_sinks};
  if (s.causal)
    attend(qkv, seen_in_documents(seen, s), d_out, out, lse, d_qkv, s, more);
  else
    attend(qkv, seen_nearby(seen, s), d_out, out, lse, d_qkv, s, more);
}

void across_attention_reference(const float* q, const std::int32_t* lengths, const float* d_out,
                                float* out, float* lse, float* d_q, const AttentionSize& s) {
  const auto seen_by = [&](std::int64_t b, std::int64_t) {
    return Seen{0, lengths ? lengths[b] : s.memory.tokens};
  };
  attend(q, seen_by, d_out, out, lse, d_q, s);
}

}  // namespace trainx::kernels
