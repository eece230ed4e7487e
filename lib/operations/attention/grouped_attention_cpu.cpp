#include "operations/attention/attention_backends.hpp"
#include "operations/attention/attention_scores.hpp"
#include "operations/attention/grouped_attention.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
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

/// Columns of a head in rows of queries, keys and values.
at::Tensor query_columns(const Attention& a, const at::Tensor& rows, std::int64_t head) {
  return rows.narrow(1, head * a.head_size, a.head_size);
}
at::Tensor key_columns(const Attention& a, const at::Tensor& rows, std::int64_t kv) {
  return query_columns(a, rows, a.query_heads + kv);
}
at::Tensor value_columns(const Attention& a, const at::Tensor& rows, std::int64_t kv) {
  return rows.narrow(1, (a.query_heads + a.key_value_heads) * a.head_size + kv * a.values(),
                     a.values());
}

std::vector<float> loaded_sinks(const Tensor& x) {
  std::vector<float> out;
  if (!x.defined()) return out;
  with_element(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < x.numel(); ++i) out.push_back(load(data<T>(x)[i]));
  });
  return out;
}

/// Gradients of the sinks, summed in the order of samples.
class SinkGradients {
 public:
  SinkGradients(const Attention& a, const AttentionGradients& to)
      : to_(to),
        heads_(a.query_heads),
        sums_(to.sinks.defined() ? static_cast<std::size_t>(a.batch * heads_) : 0) {}
  /// Of a head in a sample; each is added to by one thread.
  void add(std::int64_t sample, std::int64_t head, float gradient) {
    if (!sums_.empty()) sums_[static_cast<std::size_t>(sample * heads_ + head)] += gradient;
  }
  void write() const {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const auto head = static_cast<std::int64_t>(i) % heads_;
      float& sum = data<float>(to_.sinks)[head];
      const bool adds = to_.accumulate || static_cast<std::int64_t>(i) >= heads_;
      sum = (adds ? sum : 0) + sums_[i];
    }
  }

 private:
  const AttentionGradients& to_;
  std::int64_t heads_;
  std::vector<float> sums_;
};

class Heads {
 public:
  Heads(const Attention& a, const AttentionInputs& in, std::int64_t queries)
      : a_(a),
        dropout_(in.dropout),
        queries_(queries / a.batch),
        keys_(in.qkv.size(0) / a.batch),
        sees_(a, queries_, keys_, in.seen),
        scores_(a),
        sinks_(loaded_sinks(in.sinks)),
        qkv_(tensor::torch_view(in.qkv).view({a.batch, keys_, a.columns()})) {}

  std::int64_t keys() const { return keys_; }
  /// Calls f(sample, key-value head) for all, in parallel.
  template <class F>
  void for_each(F f) const {
    at::parallel_for(0, a_.batch * a_.key_value_heads, 1,
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
    return query_columns(a_, qkv_.select(0, t.sample), t.head)
        .narrow(0, sees_.past() + t.begin, t.rows())
        .to(at::kFloat);
  }
  at::Tensor keys(std::int64_t sample, std::int64_t kv) const {
    return key_columns(a_, qkv_.select(0, sample), kv).to(at::kFloat);
  }
  at::Tensor values(std::int64_t sample, std::int64_t kv) const {
    return value_columns(a_, qkv_.select(0, sample), kv).to(at::kFloat);
  }
  std::int64_t row(const Tile& t) const { return t.sample * queries_ + t.begin; }

  /// Row r of a tile's products, as scores; `slopes`: AttentionScores.
  void finish_scores(float* row, float* slopes, const Tile& t, std::int64_t r) const {
    scores_.finish(row, slopes, {t.sample, t.head, sees_.past() + t.begin + r}, t.seen.from,
                   t.keys(), sees_.of(t.sample, t.begin + r));
  }
  float sink(std::int64_t head) const {
    return sinks_.empty() ? hidden_score : sinks_[static_cast<std::size_t>(head)];
  }
  /// Factors of dropout for row r of a tile; null: nothing is dropped. Valid until the next call.
  const float* factors(std::vector<float>& memory, const Tile& t, std::int64_t r) const {
    if (!dropout_) return nullptr;
    memory.resize(static_cast<std::size_t>(t.keys()));
    attention_dropout_factors(dropout_, t.sample, t.head, t.begin + r, t.seen.from, t.keys(),
                              memory.data());
    return memory.data();
  }

 private:
  const Attention& a_;
  Dropout dropout_;
  std::int64_t queries_, keys_;
  AttentionKeys sees_;
  AttentionScores scores_;
  std::vector<float> sinks_;
  at::Tensor qkv_;
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
      const std::int64_t width = t.keys();
      const at::Tensor scores = at::mm(heads.queries(t), keys.narrow(0, t.seen.from, width).t());
      for (std::int64_t r = 0; r < t.rows(); ++r) {
        float* const s = scores.mutable_data_ptr<float>() + r * width;
        heads.finish_scores(s, nullptr, t, r);
        const float sum = softmax(s, width, heads.sink(t.head));
        if (lse.defined()) lse.as<float>()[(heads.row(t) + r) * H + t.head] = sum;
        if (const float* const by = heads.factors(memory, t, r))
          for (std::int64_t k = 0; k < width; ++k) s[k] *= by[k];
      }
      to.narrow(0, heads.row(t), t.rows())
          .select(1, t.head)
          .copy_(at::mm(scores, values.narrow(0, t.seen.from, width)));
    });
  });
}

void cpu::grouped_attention_backward(const Attention& a, const AttentionGradients& gradients,
                                     const Tensor& d_out, const AttentionInputs& in,
                                     const Tensor& out, const Tensor& lse) {
  const TimedWork timed(Work::attention);
  const std::int64_t H = a.query_heads, n = in.qkv.size(0);
  const Heads heads(a, in, n);
  const at::Tensor from = tensor::torch_view(d_out).view({n, H, a.values()}),
                   made = tensor::torch_view(out).view({n, H, a.values()}),
                   to = tensor::torch_view(gradients.qkv).view({n, a.columns()});
  SinkGradients sinks(a, gradients);
  heads.for_each([&](std::int64_t sample, std::int64_t kv) {
    const at::Tensor keys = heads.keys(sample, kv), values = heads.values(sample, kv);
    const at::Tensor d_keys = at::zeros({heads.keys(), a.head_size}),
                     d_values = at::zeros({heads.keys(), a.values()});
    std::vector<float> memory;
    heads.for_tiles(sample, kv, [&](const Tile& t) {
      const std::int64_t first = heads.row(t), width = t.keys();
      const auto rows_of = [&](const at::Tensor& x) {
        return x.narrow(0, first, t.rows()).select(1, t.head);
      };
      const auto seen_of = [&](const at::Tensor& x) { return x.narrow(0, t.seen.from, width); };
      const at::Tensor q = heads.queries(t), k = seen_of(keys), d = rows_of(from).to(at::kFloat);
      const at::Tensor scores = at::mm(q, k.t()), slopes = at::empty({t.rows(), width}),
                       d_scores = at::mm(d, seen_of(values).t()),
                       // of a row: the sum of probabilities times their gradients
          average = at::mul(d, rows_of(made).to(at::kFloat)).sum(1);
      // scores become their gradients, d_scores the probabilities that values were summed with
      for (std::int64_t r = 0; r < t.rows(); ++r) {
        float *const s = scores.mutable_data_ptr<float>() + r * width,
                     *const ds = d_scores.mutable_data_ptr<float>() + r * width,
                     *const slope = slopes.mutable_data_ptr<float>() + r * width;
        const float mean = average.const_data_ptr<float>()[r];
        heads.finish_scores(s, slope, t, r);
        const float sum = lse.as<const float>()[(first + r) * H + t.head];
        softmax_with(s, width, sum);
        if (a.has_sinks) sinks.add(t.sample, t.head, -std::exp(heads.sink(t.head) - sum) * mean);
        const float* const by = heads.factors(memory, t, r);
        for (std::int64_t i = 0; i < width; ++i) {
          const float p = s[i], factor = by ? by[i] : 1;
          s[i] = p * (factor * ds[i] - mean) * slope[i];
          ds[i] = p * factor;
        }
      }
      seen_of(d_values).addmm_(d_scores.t(), d);
      query_columns(a, to.narrow(0, first, t.rows()), t.head).copy_(at::mm(scores, k));
      seen_of(d_keys).addmm_(scores.t(), q);
    });
    const at::Tensor rows = to.narrow(0, sample * heads.keys(), heads.keys());
    key_columns(a, rows, kv).copy_(d_keys);
    value_columns(a, rows, kv).copy_(d_values);
  });
  sinks.write();
}

}  // namespace trainx::operations
