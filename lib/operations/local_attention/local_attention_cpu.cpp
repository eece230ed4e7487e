#include "core/error.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/local_attention/local_attention.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <cmath>
#include <string>

namespace trainx::operations {

namespace {

constexpr std::int64_t query_rows = 64;  // whose scores exist at once, for each thread

/// Queries [begin, end) of a sample and the keys [low, high) that any of them sees.
struct Tile {
  std::int64_t begin, end, low, high;
  std::int64_t rows() const { return end - begin; }
  std::int64_t keys() const { return high - low; }
};

class LocalHeads {
 public:
  LocalHeads(const LocalAttention& a, const Tensor& qkv, const Tensor& lengths)
      : a_(a),
        lengths_(lengths.as<const std::int32_t>()),
        scale_(1 / std::sqrt(static_cast<double>(a.head_size))),
        qkv_(tensor::torch_view(qkv).view({a.batch, a.length, 3, a.heads, a.head_size})) {}

  /// Calls f(sample, head, tokens of the sample) for all, in parallel.
  template <class F>
  void for_each(F f) const {
    at::parallel_for(0, a_.batch * a_.heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t length = lengths_[i / a_.heads];
        if (length < 0 || length > a_.length)
          throw InternalError("local attention: a length of " + std::to_string(length) +
                              " in rows of " + std::to_string(a_.length));
        f(i / a_.heads, i % a_.heads, length);
      }
    });
  }
  template <class F>
  void for_tiles(std::int64_t length, F f) const {
    for (std::int64_t begin = 0; begin < length; begin += query_rows) {
      const std::int64_t end = std::min(begin + query_rows, length);
      f(Tile{begin, end, std::max<std::int64_t>(0, begin - a_.window + 1),
             std::min(length, end + a_.window - 1)});
    }
  }
  /// kind 0: queries, 1: keys, 2: values. [length, head size] in fp32.
  at::Tensor part(std::int64_t sample, std::int64_t head, std::int64_t kind) const {
    return qkv_.select(0, sample).select(1, kind).select(1, head).to(at::kFloat);
  }
  /// Calls f(scores of a row in what it sees, how many, row) and sets the others to 0.
  template <class F>
  void for_rows(float* scores, const Tile& t, F f) const {
    for (std::int64_t r = 0; r < t.rows(); ++r) {
      const std::int64_t q = t.begin + r, from = std::max(t.low, q - a_.window + 1) - t.low,
                         to = std::min(t.high, q + a_.window) - t.low;
      float* const row = scores + r * t.keys();
      std::fill(row, row + from, 0.0f);
      std::fill(row + to, row + t.keys(), 0.0f);
      f(row + from, to - from, q);
    }
  }
  float scale() const { return static_cast<float>(scale_); }

 private:
  const LocalAttention& a_;
  const std::int32_t* lengths_;
  double scale_;
  at::Tensor qkv_;
};

/// Scores become probabilities; returns the logarithm of their sum.
float softmax_of(float* s, std::int64_t n, float scale) {
  float most = s[0] * scale, sum = 0;
  for (std::int64_t k = 0; k < n; ++k) most = std::max(most, s[k] *= scale);
  for (std::int64_t k = 0; k < n; ++k) sum += s[k] = std::exp(s[k] - most);
  for (std::int64_t k = 0; k < n; ++k) s[k] /= sum;
  return most + std::log(sum);
}

}  // namespace

void local_attention(const LocalAttention& a, const Tensor& out, const Tensor& lse,
                     const Tensor& qkv, const Tensor& lengths) {
  const TimedWork timed(Work::attention);
  const LocalHeads heads(a, qkv, lengths);
  const at::Tensor to = tensor::torch_view(out).view({a.batch, a.length, a.heads, a.head_size});
  heads.for_each([&](std::int64_t sample, std::int64_t head, std::int64_t length) {
    const at::Tensor queries = heads.part(sample, head, 0), keys = heads.part(sample, head, 1),
                     values = heads.part(sample, head, 2),
                     rows = to.select(0, sample).select(1, head);
    const auto log_sum = [&](std::int64_t q) -> float* {
      return lse.defined() ? lse.as<float>() + (sample * a.length + q) * a.heads + head : nullptr;
    };
    heads.for_tiles(length, [&](const Tile& t) {
      at::Tensor scores =
          at::mm(queries.narrow(0, t.begin, t.rows()), keys.narrow(0, t.low, t.keys()).t());
      heads.for_rows(scores.mutable_data_ptr<float>(), t, [&](float* s, std::int64_t n, auto q) {
        const float sum = softmax_of(s, n, heads.scale());
        if (float* const at = log_sum(q)) *at = sum;
      });
      rows.narrow(0, t.begin, t.rows()).copy_(at::mm(scores, values.narrow(0, t.low, t.keys())));
    });
    rows.narrow(0, length, a.length - length).zero_();
    for (std::int64_t q = length; q < a.length; ++q)
      if (float* const at = log_sum(q)) *at = 0;
  });
}

void local_attention_backward(const LocalAttention& a, const Tensor& d_qkv, const Tensor& d_out,
                              const Tensor& qkv, const Tensor& out, const Tensor& lse,
                              const Tensor& lengths) {
  const TimedWork timed(Work::attention);
  const LocalHeads heads(a, qkv, lengths);
  const std::int64_t B = a.batch, T = a.length, H = a.heads, D = a.head_size;
  const at::Tensor from = tensor::torch_view(d_out).view({B, T, H, D}),
                   made = tensor::torch_view(out).view({B, T, H, D}),
                   to = tensor::torch_view(d_qkv).view({B, T, 3, H, D});
  heads.for_each([&](std::int64_t sample, std::int64_t head, std::int64_t length) {
    const at::Tensor queries = heads.part(sample, head, 0), keys = heads.part(sample, head, 1),
                     values = heads.part(sample, head, 2);
    at::Tensor d_queries = at::zeros({T, D}), d_keys = at::zeros({T, D}),
               d_values = at::zeros({T, D});
    heads.for_tiles(length, [&](const Tile& t) {
      const at::Tensor q = queries.narrow(0, t.begin, t.rows()),
                       k = keys.narrow(0, t.low, t.keys()), v = values.narrow(0, t.low, t.keys());
      const auto part_of = [&](const at::Tensor& all) {
        return all.select(0, sample).select(1, head).narrow(0, t.begin, t.rows()).to(at::kFloat);
      };
      const at::Tensor d = part_of(from), products = at::mul(d, part_of(made)).sum(1),
                       d_p = at::mm(d, v.t());
      at::Tensor p = at::mm(q, k.t());
      auto* const scores = p.mutable_data_ptr<float>();
      heads.for_rows(scores, t, [&](float* s, std::int64_t n, std::int64_t row) {
        const float sum = lse.as<const float>()[(sample * T + row) * H + head];
        for (std::int64_t i = 0; i < n; ++i) s[i] = std::exp(s[i] * heads.scale() - sum);
      });
      d_values.narrow(0, t.low, t.keys()).addmm_(p.t(), d);
      const auto* const average = products.const_data_ptr<float>();
      const auto* const dp = d_p.const_data_ptr<float>();
      // of keys that a query does not see the probability is 0
      for (std::int64_t r = 0; r < t.rows(); ++r)
        for (std::int64_t i = r * t.keys(); i < (r + 1) * t.keys(); ++i)
          scores[i] *= (dp[i] - average[r]) * heads.scale();
      d_queries.narrow(0, t.begin, t.rows()).copy_(at::mm(p, k));
      d_keys.narrow(0, t.low, t.keys()).addmm_(p.t(), q);
    });
    const at::Tensor rows = to.select(0, sample);
    rows.select(1, 0).select(1, head).copy_(d_queries);
    rows.select(1, 1).select(1, head).copy_(d_keys);
    rows.select(1, 2).select(1, head).copy_(d_values);
  });
}

}  // namespace trainx::operations
