#include "core/error.hpp"
#include "operations/attention/biased_attention.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trainx::operations {
namespace {

constexpr std::int64_t query_rows = 64;  // whose scores exist at once, for each thread
constexpr float unseen = -std::numeric_limits<float>::infinity();

/// Rows [begin, end) of a sample's queries, and how many keys any of them sees.
struct Tile {
  std::int64_t begin, end, keys;
  std::int64_t rows() const { return end - begin; }
};

class Heads {
 public:
  Heads(const Attention& a, const AttentionText& text, std::int64_t queries)
      : a_(a),
        queries_(queries / a.batch),
        keys_(a.memory_length > 0 ? a.memory_length : text.qkv.size(0) / a.batch),
        past_(a.memory_length > 0 ? 0 : keys_ - queries_),
        scale_(static_cast<float>(a.scale > 0 ? a.scale
                                              : 1 / std::sqrt(static_cast<double>(a.head_size)))),
        lengths_(text.seen.defined() ? text.seen.as<const std::int32_t>() : nullptr),
        queries_of_(rows_of(text.qkv)),
        keys_of_(a.memory_length > 0 ? rows_of(text.memory) : queries_of_) {
    if (a.mask == AttentionMask::documents || a.window > 0 || a.soft_cap > 0)
      throw InternalError("attention with biases or a memory has no documents, windows or caps");
    if (!text.biases.defined()) return;
    buckets_ = a.bias.bucket_of(past_ + queries_, keys_);
    biases_ = tensor::torch_view(text.biases).to(at::kFloat).t().contiguous();  // [H, buckets]
  }

  std::int64_t group() const { return a_.query_heads / a_.key_value_heads; }
  std::int64_t keys() const { return keys_; }
  std::int64_t row(std::int64_t sample, std::int64_t query) const {
    return sample * queries_ + query;
  }
  template <class F>
  void for_each(F f) const {
    at::parallel_for(0, a_.batch * a_.key_value_heads, 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i)
                         f(i / a_.key_value_heads, i % a_.key_value_heads);
                     });
  }
  template <class F>
  void for_tiles(std::int64_t sample, F f) const {
    for (std::int64_t begin = 0; begin < queries_; begin += query_rows) {
      const std::int64_t end = std::min(begin + query_rows, queries_);
      f(Tile{begin, end, std::max<std::int64_t>(1, seen(sample, end - 1))});
    }
  }

  at::Tensor queries(std::int64_t sample, std::int64_t head, Tile t) const {
    return part(queries_of_, sample, head).narrow(0, past_ + t.begin, t.rows()).to(at::kFloat);
  }
  at::Tensor keys(std::int64_t sample, std::int64_t head) const {
    return part(keys_of_, sample, first_key() + head).to(at::kFloat);
  }
  at::Tensor values(std::int64_t sample, std::int64_t head) const {
    return part(keys_of_, sample, first_key() + a_.key_value_heads + head).to(at::kFloat);
  }
  /// Where heads of keys begin in what holds them.
  std::int64_t first_key() const { return a_.memory_length > 0 ? 0 : a_.query_heads; }

  /// Products become what the softmax takes; -infinity where a query does not look.
  void finish_scores(float* scores, std::int64_t sample, std::int64_t head, Tile t) const {
    const float* const bias = biases_.defined() ? biases_[head].const_data_ptr<float>() : nullptr;
    for (std::int64_t r = 0; r < t.rows(); ++r) {
      float* const s = scores + r * t.keys;
      const std::int64_t n = std::min(t.keys, seen_by(sample, t.begin + r));
      for (std::int64_t k = 0; k < n; ++k) s[k] *= scale_;
      if (bias)
        for (std::int64_t k = 0; k < n; ++k) s[k] += bias[buckets_[distance(t.begin + r, k)]];
      std::fill(s + n, s + t.keys, unseen);
    }
  }
  /// Adds gradients of scores to those of the head's biases, by bucket.
  void add_by_bucket(const float* d_scores, Tile t, double* to) const {
    for (std::int64_t r = 0; r < t.rows(); ++r)
      for (std::int64_t k = 0; k < t.keys; ++k)
        to[buckets_[distance(t.begin + r, k)]] += d_scores[r * t.keys + k];
  }
  float scale() const { return scale_; }

 private:
  at::Tensor rows_of(const Tensor& x) const {
    return tensor::torch_view(x).view({a_.batch, x.size(0) / a_.batch, -1, a_.head_size});
  }
  static at::Tensor part(const at::Tensor& x, std::int64_t sample, std::int64_t head) {
    return x.select(0, sample).select(1, head);
  }
  std::size_t distance(std::int64_t query, std::int64_t key) const {
    return static_cast<std::size_t>(key - query + queries_ - 1);
  }
  /// Keys that a query at that place or before it sees.
  std::int64_t seen(std::int64_t sample, std::int64_t query) const {
    return lengths_ ? std::min<std::int64_t>(lengths_[sample], keys_) : past_ + query + 1;
  }
  std::int64_t seen_by(std::int64_t sample, std::int64_t query) const {
    const std::int64_t n = seen(sample, query);
    return lengths_ && a_.memory_length == 0 && query >= n ? 0 : n;
  }

  const Attention& a_;
  std::int64_t queries_, keys_, past_;
  float scale_;
  const std::int32_t* lengths_;
  at::Tensor queries_of_, keys_of_, biases_;
  std::vector<std::int32_t> buckets_;  // by distance
};

/// Scores of a row become probabilities; returns the logarithm of their sum.
float softmax(float* s, std::int64_t n) {
  const float most = *std::max_element(s, s + n);
  if (most == unseen) {
    std::fill_n(s, n, 0.0f);
    return most;
  }
  float sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += s[k] = std::exp(s[k] - most);
  for (std::int64_t k = 0; k < n; ++k) s[k] /= sum;
  return most + std::log(sum);
}

}  // namespace

void biased_attention(const Attention& a, const AttentionText& text, const Tensor& out,
                      const Tensor& lse) {
  const TimedWork timed(Work::attention);
  const std::int64_t H = a.query_heads, n = out.size(0);
  const Heads heads(a, text, n);
  const at::Tensor to = tensor::torch_view(out).view({n, H, a.head_size});
  heads.for_each([&](std::int64_t sample, std::int64_t kv) {
    const at::Tensor keys = heads.keys(sample, kv), values = heads.values(sample, kv);
    for (std::int64_t h = kv * heads.group(); h < (kv + 1) * heads.group(); ++h)
      heads.for_tiles(sample, [&](Tile t) {
        at::Tensor scores = at::mm(heads.queries(sample, h, t), keys.narrow(0, 0, t.keys).t());
        auto* const s = scores.mutable_data_ptr<float>();
        heads.finish_scores(s, sample, h, t);
        for (std::int64_t r = 0; r < t.rows(); ++r) {
          const float sum = softmax(s + r * t.keys, t.keys);
          if (lse.defined()) lse.as<float>()[heads.row(sample, t.begin + r) * H + h] = sum;
        }
        to.narrow(0, heads.row(sample, t.begin), t.rows())
            .select(1, h)
            .copy_(at::mm(scores, values.narrow(0, 0, t.keys)));
      });
  });
}

void biased_attention_backward(const Attention& a, const AttentionText& text, const Tensor& out,
                               const Tensor& lse, const Tensor& d_out,
                               const AttentionTextGradients& to) {
  const TimedWork timed(Work::attention);
  const std::int64_t H = a.query_heads, K = a.key_value_heads, D = a.head_size, n = out.size(0);
  const Heads heads(a, text, n);
  const at::Tensor from = tensor::torch_view(d_out).view({n, H, D}),
                   made = tensor::torch_view(out).view({n, H, D});
  at::Tensor d_queries, d_keys_of;
  if (to.qkv.defined()) d_queries = tensor::torch_view(to.qkv).view({n, -1, D});
  if (a.memory_length == 0)
    d_keys_of = d_queries;
  else if (to.memory.defined())
    d_keys_of = tensor::torch_view(to.memory).view({a.batch * a.memory_length, 2 * K, D});
  const std::int64_t buckets = to.biases.defined() ? a.bias.buckets : 0;
  std::vector<double> d_biases(static_cast<std::size_t>(a.batch * H * buckets));
  heads.for_each([&](std::int64_t sample, std::int64_t kv) {
    const at::Tensor keys = heads.keys(sample, kv), values = heads.values(sample, kv);
    at::Tensor d_keys = at::zeros({heads.keys(), D}), d_values = at::zeros({heads.keys(), D});
    for (std::int64_t h = kv * heads.group(); h < (kv + 1) * heads.group(); ++h)
      heads.for_tiles(sample, [&](Tile t) {
        const std::int64_t first = heads.row(sample, t.begin);
        const at::Tensor q = heads.queries(sample, h, t), k = keys.narrow(0, 0, t.keys),
                         v = values.narrow(0, 0, t.keys),
                         d = from.narrow(0, first, t.rows()).select(1, h).to(at::kFloat),
                         o = made.narrow(0, first, t.rows()).select(1, h).to(at::kFloat);
        at::Tensor p = at::mm(q, k.t());
        auto* const s = p.mutable_data_ptr<float>();
        heads.finish_scores(s, sample, h, t);
        for (std::int64_t r = 0; r < t.rows(); ++r) {
          const float sum = lse.as<const float>()[(first + r) * H + h];
          for (std::int64_t i = r * t.keys; i < (r + 1) * t.keys; ++i)
            s[i] = s[i] == unseen ? 0 : std::exp(s[i] - sum);
        }
        d_values.narrow(0, 0, t.keys).addmm_(p.t(), d);
        const at::Tensor products = at::mul(d, o).sum(1), d_p = at::mm(d, v.t());
        const auto *const average = products.const_data_ptr<float>(),
                          *const dp = d_p.const_data_ptr<float>();
        for (std::int64_t r = 0; r < t.rows(); ++r)
          for (std::int64_t i = r * t.keys; i < (r + 1) * t.keys; ++i)
            s[i] *= dp[i] - average[r];
        if (buckets > 0) heads.add_by_bucket(s, t, &d_biases[static_cast<std::size_t>((sample * H + h) * buckets)]);
        p.mul_(heads.scale());
        if (d_queries.defined())
          d_queries.narrow(0, first, t.rows()).select(1, h).copy_(at::mm(p, k));
        d_keys.narrow(0, 0, t.keys).addmm_(p.t(), q);
      });
    if (!d_keys_of.defined()) return;
    const at::Tensor rows = d_keys_of.narrow(0, sample * heads.keys(), heads.keys());
    rows.select(1, heads.first_key() + kv).copy_(d_keys);
    rows.select(1, heads.first_key() + K + kv).copy_(d_values);
  });
  if (buckets == 0) return;
  auto* const table = to.biases.as<float>();
  for (std::int64_t b = 0; b < buckets; ++b)
    for (std::int64_t h = 0; h < H; ++h) {
      double sum = to.accumulates ? table[b * H + h] : 0;
      for (std::int64_t sample = 0; sample < a.batch; ++sample)
        sum += d_biases[static_cast<std::size_t>((sample * H + h) * buckets + b)];
      table[b * H + h] = static_cast<float>(sum);
    }
}

}  // namespace trainx::operations
