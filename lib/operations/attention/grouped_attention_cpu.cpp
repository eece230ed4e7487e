#include "operations/attention/attention_backends.hpp"
#include "operations/attention/attention_keys.hpp"
#include "operations/attention/attention_scores.hpp"
#include "operations/attention/grouped_attention.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <cmath>
#include <vector>

namespace trainx::operations {

namespace {

constexpr std::int64_t query_rows = 64;  // whose scores exist at once, for each thread

/// Queries [begin, end) of a head, and the keys that any of them sees.
struct Tile {
  std::int64_t sample, head, begin, end;
  KeyRange seen;
  std::int64_t rows() const { return end - begin; }
  std::int64_t keys() const { return seen.size(); }
};

/// A query of a tile, and the keys that it sees.
struct Row {
  AttentionQuery query;
  KeyRange seen;
  std::int64_t keys() const { return seen.size(); }
  /// Its scores in row r of a tile's; those of keys that it does not see become 0.
  float* of(const at::Tensor& scores, const Tile& t, std::int64_t r) const {
    float* const row = scores.mutable_data_ptr<float>() + r * t.keys();
    const std::int64_t first = keys() > 0 ? seen.from - t.seen.from : 0;
    std::fill_n(row, first, 0.0f);
    std::fill(row + first + keys(), row + t.keys(), 0.0f);
    return row + first;
  }
};

/// Queries, keys and values by head, or their gradients: views [rows of a sample, size of a head].
class HeadViews {
 public:
  HeadViews(const Attention& a, const Tensor& qkv, const Tensor& memory)
      : a_(a),
        first_key_(a.memory_length > 0 ? 0 : a.query_heads * a.head_size),
        queries_(by_sample(qkv)),
        keys_(a.memory_length > 0 ? by_sample(memory) : queries_) {}

  bool has_queries() const { return queries_.defined(); }
  bool has_keys() const { return keys_.defined(); }
  at::Tensor queries(std::int64_t sample, std::int64_t head) const {
    return queries_.select(0, sample).narrow(1, head * a_.head_size, a_.head_size);
  }
  at::Tensor keys(std::int64_t sample, std::int64_t kv) const {
    return keys_.select(0, sample).narrow(1, first_key_ + kv * a_.head_size, a_.head_size);
  }
  at::Tensor values(std::int64_t sample, std::int64_t kv) const {
    const std::int64_t first_value = first_key_ + a_.key_value_heads * a_.head_size;
    return keys_.select(0, sample).narrow(1, first_value + kv * a_.values(), a_.values());
  }

 private:
  at::Tensor by_sample(const Tensor& x) const {
    if (!x.defined()) return {};
    return tensor::torch_view(x).view({a_.batch, x.size(0) / a_.batch, -1});
  }

  const Attention& a_;
  std::int64_t first_key_;  // column
  at::Tensor queries_, keys_;
};

/// Gradients of a parameter [entries, heads], summed in the order of samples.
class HeadGradients {
 public:
  HeadGradients(const Attention& a, std::int64_t entries, const AttentionGradients::Parameter& to)
      : to_(to),
        batch_(a.batch),
        heads_(a.query_heads),
        entries_(to.sum.defined() ? entries : 0),
        columns_(entries_ > 1 ? to.sum.size(1) : heads_),
        first_column_(entries_ > 1 ? first_bias_column(a, to.sum) : 0),
        sums_(static_cast<std::size_t>(batch_ * heads_ * entries_)) {}
  /// [entries] of a head in a sample, which one thread adds to; null: not wanted.
  double* of(std::int64_t sample, std::int64_t head) {
    return sums_.empty() ? nullptr : sums_.data() + (sample * heads_ + head) * entries_;
  }
  void write() {
    for (std::int64_t e = 0; e < entries_; ++e)
      for (std::int64_t h = 0; h < heads_; ++h) {
        float& to = to_.sum.as<float>()[e * columns_ + first_column_ + h];
        double sum = to_.accumulate ? to : 0;
        for (std::int64_t sample = 0; sample < batch_; ++sample) sum += of(sample, h)[e];
        to = static_cast<float>(sum);
      }
  }

 private:
  const AttentionGradients::Parameter& to_;
  std::int64_t batch_, heads_, entries_, columns_, first_column_;
  std::vector<double> sums_;  // [samples, heads, entries]
};

/// What tiles of scores are computed from.
class Heads {
 public:
  Heads(const Attention& a, const AttentionInputs& in, std::int64_t queries)
      : a_(a),
        dropout_(in.dropout),
        queries_(queries / a.batch),
        keys_((a.memory_length > 0 ? in.memory : in.qkv).size(0) / a.batch),
        sees_(a, queries_, keys_, in.seen),
        scores_(a, sees_.past(), queries_, keys_, in.biases),
        operands_(a, in.qkv, in.memory) {
    if (in.sinks.defined()) sinks_ = tensor::torch_view(in.sinks).to(at::kFloat).contiguous();
  }

  std::int64_t keys() const { return keys_; }
  const AttentionScores& scores() const { return scores_; }
  /// Calls f(sample, key-value head) for all, in parallel.
  template <class F>
  void for_each(F f) const {
    tensor::parallel_for(0, a_.batch * a_.key_value_heads, 1,
                         [&](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t i = begin; i < end; ++i)
                             f(i / a_.key_value_heads, i % a_.key_value_heads);
                         });
  }
  /// Calls f(tile) for the queries of all heads that share keys and values.
  template <class F>
  void for_tiles(std::int64_t sample, std::int64_t kv, F f) const {
    const std::int64_t group = a_.query_heads / a_.key_value_heads;
    for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h)
      for (std::int64_t begin = 0; begin < queries_; begin += query_rows) {
        const std::int64_t end = std::min(begin + query_rows, queries_);
        f(Tile{sample, h, begin, end, sees_.of(sample, begin, end)});
      }
  }
  /// [rows, head size] in fp32.
  at::Tensor queries(const Tile& t) const {
    return operands_.queries(t.sample, t.head)
        .narrow(0, sees_.past() + t.begin, t.rows())
        .to(at::kFloat);
  }
  at::Tensor keys(std::int64_t sample, std::int64_t kv) const {
    return operands_.keys(sample, kv).to(at::kFloat);
  }
  at::Tensor values(std::int64_t sample, std::int64_t kv) const {
    return operands_.values(sample, kv).to(at::kFloat);
  }
  /// Of all samples' queries, a tile's first.
  std::int64_t first_row(const Tile& t) const { return t.sample * queries_ + t.begin; }
  Row row(const Tile& t, std::int64_t r) const {
    return {{t.head, sees_.past() + t.begin + r}, sees_.of(t.sample, t.begin + r)};
  }
  float sink(std::int64_t head) const {
    return sinks_.defined() ? sinks_.const_data_ptr<float>()[head] : no_score;
  }
  /// Factors of dropout for what row r of a tile sees; null: nothing is dropped. Valid until the
  /// next call.
  const float* factors(std::vector<float>& memory, const Tile& t, std::int64_t r,
                       KeyRange seen) const {
    if (!dropout_) return nullptr;
    memory.resize(static_cast<std::size_t>(t.keys()));
    attention_dropout_factors(dropout_, t.sample, t.head, t.begin + r, seen.from, seen.size(),
                              memory.data());
    return memory.data();
  }

 private:
  const Attention& a_;
  Dropout dropout_;
  std::int64_t queries_, keys_;
  AttentionKeys sees_;
  AttentionScores scores_;
  HeadViews operands_;
  at::Tensor sinks_;
};

}  // namespace

void cpu::grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse,
                            const AttentionInputs& in) {
  const TimedWork timed(Work::attention);
  const std::int64_t H = a.query_heads, n = out.size(0);
  const Heads heads(a, in, n);
  const at::Tensor to = tensor::torch_view(out).view({n, H, a.values()});
  heads.for_each([&](std::int64_t sample, std::int64_t kv) {
    const at::Tensor keys = heads.keys(sample, kv), values = heads.values(sample, kv);
    std::vector<float> memory;
    heads.for_tiles(sample, kv, [&](const Tile& t) {
      const std::int64_t first = heads.first_row(t);
      const auto seen_of = [&](const at::Tensor& x) { return x.narrow(0, t.seen.from, t.keys()); };
      const at::Tensor scores = at::mm(heads.queries(t), seen_of(keys).t());
      for (std::int64_t r = 0; r < t.rows(); ++r) {
        const Row row = heads.row(t, r);
        float* const s = row.of(scores, t, r);
        heads.scores().finish(s, nullptr, row.query, row.seen.from, row.keys());
        const float sum = softmax(s, row.keys(), heads.sink(t.head));
        if (lse.defined()) lse.as<float>()[(first + r) * H + t.head] = sum;
        if (const float* const by = heads.factors(memory, t, r, row.seen))
          for (std::int64_t k = 0; k < row.keys(); ++k) s[k] *= by[k];
      }
      to.narrow(0, first, t.rows()).select(1, t.head).copy_(at::mm(scores, seen_of(values)));
    });
  });
}

void cpu::grouped_attention_backward(const Attention& a, const AttentionGradients& gradients,
                                     const Tensor& d_out, const AttentionInputs& in,
                                     const Tensor& out, const Tensor& lse) {
  const TimedWork timed(Work::attention);
  const std::int64_t H = a.query_heads, n = out.size(0);
  const Heads heads(a, in, n);
  const at::Tensor from = tensor::torch_view(d_out).view({n, H, a.values()}),
                   made = tensor::torch_view(out).view({n, H, a.values()});
  const HeadViews to(a, gradients.qkv, gradients.memory);
  HeadGradients sinks(a, 1, gradients.sinks), biases(a, a.bias.buckets, gradients.biases);
  heads.for_each([&](std::int64_t sample, std::int64_t kv) {
    const at::Tensor keys = heads.keys(sample, kv), values = heads.values(sample, kv);
    const at::Tensor d_keys = at::zeros({heads.keys(), a.head_size}),
                     d_values = at::zeros({heads.keys(), a.values()});
    std::vector<float> memory, slopes(static_cast<std::size_t>(heads.keys()));
    heads.for_tiles(sample, kv, [&](const Tile& t) {
      const std::int64_t first = heads.first_row(t);
      const auto rows_of = [&](const at::Tensor& x) {
        return x.narrow(0, first, t.rows()).select(1, t.head).to(at::kFloat);
      };
      const auto seen_of = [&](const at::Tensor& x) { return x.narrow(0, t.seen.from, t.keys()); };
      const at::Tensor q = heads.queries(t), k = seen_of(keys), d = rows_of(from);
      const at::Tensor scores = at::mm(q, k.t()), d_scores = at::mm(d, seen_of(values).t()),
                       // of a row: the sum of probabilities times their gradients
          average = at::mul(d, rows_of(made)).sum(1);
      double *const d_sink = sinks.of(sample, t.head), *const d_biases = biases.of(sample, t.head);
      // scores become gradients of products, d_scores the probabilities that values were summed
      // with
      for (std::int64_t r = 0; r < t.rows(); ++r) {
        const Row row = heads.row(t, r);
        float *const s = row.of(scores, t, r), *const ds = row.of(d_scores, t, r);
        const float mean = average.const_data_ptr<float>()[r],
                    sum = lse.as<const float>()[(first + r) * H + t.head];
        heads.scores().finish(s, slopes.data(), row.query, row.seen.from, row.keys());
        const float* const by = heads.factors(memory, t, r, row.seen);
        for (std::int64_t i = 0; i < row.keys(); ++i) {
          const float p = std::exp(s[i] - sum), factor = by ? by[i] : 1;
          s[i] = p * (factor * ds[i] - mean);
          ds[i] = p * factor;
        }
        if (d_sink) *d_sink -= std::exp(heads.sink(t.head) - sum) * mean;
        if (d_biases)
          heads.scores().add_bias_gradients(s, row.query, row.seen.from, row.keys(), d_biases);
        for (std::int64_t i = 0; i < row.keys(); ++i) s[i] *= slopes[static_cast<std::size_t>(i)];
      }
      seen_of(d_values).addmm_(d_scores.t(), d);
      if (to.has_queries())
        to.queries(sample, t.head).narrow(0, t.begin, t.rows()).copy_(at::mm(scores, k));
      seen_of(d_keys).addmm_(scores.t(), q);
    });
    if (!to.has_keys()) return;
    to.keys(sample, kv).copy_(d_keys);
    to.values(sample, kv).copy_(d_values);
  });
  sinks.write();
  biases.write();
}

}  // namespace trainx::operations
