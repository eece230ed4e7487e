#include "core/error.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/attention/attention_spec.hpp"
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

namespace trainx::operations {

namespace {

constexpr std::int64_t query_rows = 64;  // whose scores exist at once, for each thread

/// Rows of the queries of one head, and the keys that any of them sees.
struct Tile {
  std::int64_t begin, end;  // among the sample's queries
  std::int64_t low, high;   // among its keys
  std::int64_t rows() const { return end - begin; }
  std::int64_t keys() const { return high - low; }
};

class Heads {
 public:
  Heads(const Attention& a, const Tensor& qkv, std::int64_t queries, const Tensor& seen)
      : a_(a),
        samples_(a.batch),
        queries_(queries / a.batch),
        keys_(qkv.size(0) / a.batch),
        past_(keys_ - queries_),
        scale_(static_cast<float>(a.scale > 0 ? a.scale
                                              : 1 / std::sqrt(static_cast<double>(a.head_size)))),
        starts_(seen.defined() ? seen.as<const std::int32_t>() : nullptr),
        qkv_(tensor::torch_view(qkv).view(
            {samples_, keys_, a.query_heads + 2 * a.key_value_heads, a.head_size})) {
    if (a.mask == AttentionMask::lengths)
      throw InternalError("grouped attention under padding has no loop");
  }

  std::int64_t group() const { return a_.query_heads / a_.key_value_heads; }
  /// Calls f(sample, key-value head) for all, in parallel.
  template <class F>
  void for_each(F f) const {
    at::parallel_for(0, samples_ * a_.key_value_heads, 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i)
                         f(i / a_.key_value_heads, i % a_.key_value_heads);
                     });
  }
  template <class F>
  void for_tiles(std::int64_t sample, F f) const {
    for (std::int64_t begin = 0; begin < queries_; begin += query_rows) {
      const std::int64_t end = std::min(begin + query_rows, queries_);
      std::int64_t low = a_.window > 0 ? std::max<std::int64_t>(0, past_ + begin - a_.window + 1)
                                       : 0;
      if (starts_) low = std::max(low, first_start(sample, begin, end));
      f(Tile{begin, end, low, past_ + end});
    }
  }
  /// [rows, head size] in fp32.
  at::Tensor queries(std::int64_t sample, std::int64_t head, Tile t) const {
    return part(sample, head).narrow(0, past_ + t.begin, t.rows()).to(at::kFloat);
  }
  at::Tensor keys(std::int64_t sample, std::int64_t head) const {
    return part(sample, a_.query_heads + head).to(at::kFloat);
  }
  at::Tensor values(std::int64_t sample, std::int64_t head) const {
    return part(sample, a_.query_heads + a_.key_value_heads + head).to(at::kFloat);
  }

  /// Scores as the softmax takes them, -infinity where a query does not look; `slope`: their
  /// derivative by what they are before scale and cap, where it is wanted.
  void finish_scores(float* scores, float* slope, std::int64_t sample, Tile t) const {
    const auto cap = static_cast<float>(a_.soft_cap);
    for (std::int64_t r = 0; r < t.rows(); ++r) {
      const std::int64_t q = past_ + t.begin + r;
      std::int64_t from = a_.window > 0 ? std::max<std::int64_t>(0, q - a_.window + 1) : 0;
      std::int64_t to = q + 1;
      if (starts_) {
        const std::int32_t start = starts_[sample * queries_ + t.begin + r];
        from = std::max<std::int64_t>(from, start);
        if (start < 0) to = from;  // padding sees nothing
      }
      for (std::int64_t k = t.low; k < t.high; ++k) {
        float& s = scores[r * t.keys() + k - t.low];
        float by = scale_;
        s *= scale_;
        if (cap > 0) {
          const float u = std::tanh(s / cap);
          s = cap * u, by *= 1 - u * u;
        }
        if (slope) slope[r * t.keys() + k - t.low] = by;
        if (k < from || k >= to) s = -std::numeric_limits<float>::infinity();
      }
    }
  }
  std::int64_t row(std::int64_t sample, std::int64_t query) const {
    return sample * queries_ + query;
  }
  std::int64_t keys() const { return keys_; }

 private:
  at::Tensor part(std::int64_t sample, std::int64_t head) const {
    return qkv_.select(0, sample).select(1, head);
  }
  std::int64_t first_start(std::int64_t sample, std::int64_t begin, std::int64_t end) const {
    std::int64_t first = begin;
    for (std::int64_t t = begin; t < end; ++t)
      if (const std::int32_t s = starts_[sample * queries_ + t]; s >= 0)
        first = std::min<std::int64_t>(first, s);
    return first;
  }

  const Attention& a_;
  std::int64_t samples_, queries_, keys_, past_;
  float scale_;
  const std::int32_t* starts_;
  at::Tensor qkv_;
};

/// Scores of a row become probabilities; returns the logarithm of their sum. A row that sees
/// nothing gets zeros.
float softmax(float* s, std::int64_t n) {
  const float most = *std::max_element(s, s + n);
  if (most == -std::numeric_limits<float>::infinity()) {
    std::fill_n(s, n, 0.0f);
    return most;
  }
  float sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += s[k] = std::exp(s[k] - most);
  for (std::int64_t k = 0; k < n; ++k) s[k] /= sum;
  return most + std::log(sum);
}

}  // namespace

void cpu::grouped_attention(const Attention& a, const Tensor& out, const Tensor& lse,
                            const Tensor& qkv, const Tensor& seen) {
  const TimedWork timed(Work::attention);
  const std::int64_t H = a.query_heads, n = out.size(0);
  const Heads heads(a, qkv, n, seen);
  const at::Tensor to = tensor::torch_view(out).view({n, H, a.head_size});
  heads.for_each([&](std::int64_t sample, std::int64_t kv) {
    const at::Tensor keys = heads.keys(sample, kv), values = heads.values(sample, kv);
    for (std::int64_t h = kv * heads.group(); h < (kv + 1) * heads.group(); ++h)
      heads.for_tiles(sample, [&](Tile t) {
        at::Tensor scores =
            at::mm(heads.queries(sample, h, t), keys.narrow(0, t.low, t.keys()).t());
        auto* const s = scores.mutable_data_ptr<float>();
        heads.finish_scores(s, nullptr, sample, t);
        for (std::int64_t r = 0; r < t.rows(); ++r) {
          const float sum = softmax(s + r * t.keys(), t.keys());
          if (lse.defined()) lse.as<float>()[heads.row(sample, t.begin + r) * H + h] = sum;
        }
        to.narrow(0, heads.row(sample, t.begin), t.rows())
            .select(1, h)
            .copy_(at::mm(scores, values.narrow(0, t.low, t.keys())));
      });
  });
}

void cpu::grouped_attention_backward(const Attention& a, const Tensor& d_qkv, const Tensor& d_out,
                                     const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                     const Tensor& seen) {
  const TimedWork timed(Work::attention);
  const std::int64_t H = a.query_heads, K = a.key_value_heads, D = a.head_size, n = qkv.size(0);
  const Heads heads(a, qkv, n, seen);
  const at::Tensor from = tensor::torch_view(d_out).view({n, H, D}),
                   made = tensor::torch_view(out).view({n, H, D}),
                   to = tensor::torch_view(d_qkv).view({n, H + 2 * K, D});
  heads.for_each([&](std::int64_t sample, std::int64_t kv) {
    const at::Tensor keys = heads.keys(sample, kv), values = heads.values(sample, kv);
    at::Tensor d_keys = at::zeros({heads.keys(), D}), d_values = at::zeros({heads.keys(), D});
    for (std::int64_t h = kv * heads.group(); h < (kv + 1) * heads.group(); ++h)
      heads.for_tiles(sample, [&](Tile t) {
        const std::int64_t first = heads.row(sample, t.begin);
        const at::Tensor q = heads.queries(sample, h, t), k = keys.narrow(0, t.low, t.keys()),
                         v = values.narrow(0, t.low, t.keys()),
                         d = from.narrow(0, first, t.rows()).select(1, h).to(at::kFloat),
                         o = made.narrow(0, first, t.rows()).select(1, h).to(at::kFloat);
        at::Tensor p = at::mm(q, k.t()), slope = at::empty({t.rows(), t.keys()});
        auto *const s = p.mutable_data_ptr<float>(), *const by = slope.mutable_data_ptr<float>();
        heads.finish_scores(s, by, sample, t);
        for (std::int64_t r = 0; r < t.rows(); ++r) {
          const float sum = lse.as<const float>()[(first + r) * H + h];
          for (std::int64_t i = r * t.keys(); i < (r + 1) * t.keys(); ++i)
            s[i] = s[i] == -std::numeric_limits<float>::infinity() ? 0 : std::exp(s[i] - sum);
        }
        d_values.narrow(0, t.low, t.keys()).addmm_(p.t(), d);
        const at::Tensor products = at::mul(d, o).sum(1), d_p = at::mm(d, v.t());
        const auto *const average = products.const_data_ptr<float>(),
                          *const dp = d_p.const_data_ptr<float>();
        for (std::int64_t r = 0; r < t.rows(); ++r)
          for (std::int64_t i = r * t.keys(); i < (r + 1) * t.keys(); ++i)
            s[i] *= (dp[i] - average[r]) * by[i];
        to.narrow(0, first, t.rows()).select(1, h).copy_(at::mm(p, k));
        d_keys.narrow(0, t.low, t.keys()).addmm_(p.t(), q);
      });
    const at::Tensor rows = to.narrow(0, heads.row(sample, 0), heads.keys());
    rows.select(1, H + kv).copy_(d_keys);
    rows.select(1, H + K + kv).copy_(d_values);
  });
}

}  // namespace trainx::operations
