#include "core/error.hpp"
#include "operations/common/element.hpp"
#include "operations/common/issued_gemms.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/router/router_backends.hpp"
#include "tensor/torch_view.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trainx::operations {

using tensor::torch_view;

namespace {

// Sums of weights of a sigmoid may be that small; the published routers add it, too.
constexpr float least_sum = 1e-20F;

/// x in f32: itself, or cast into the first rows of `room`.
at::Tensor in_float(const Tensor& x, const Tensor& room) {
  if (x.dtype == DType::f32) return torch_view(x);
  if (!room.defined() || room.numel() < x.numel())
    throw InternalError("router: no room for operands in fp32");
  at::Tensor cast = torch_view(room.view({-1}).narrow(0, 0, x.numel()).view(x.dims));
  cast.copy_(torch_view(x));
  return cast;
}

/// Calls f(first, count) for as many rows of x at a time as there is room for in f32.
template <class F>
void by_rows(const Tensor& x, const Tensor& room, F f) {
  const std::int64_t rows = x.size(0),
                     most = x.dtype == DType::f32 || !room.defined() ? rows : room.size(0);
  for (std::int64_t first = 0; first < rows; first += most) f(first, std::min(most, rows - first));
}

void to_softmax(float* values, std::int64_t n) {
  const float largest = *std::max_element(values, values + n);
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += values[i] = std::exp(values[i] - largest);
  for (std::int64_t i = 0; i < n; ++i) values[i] /= sum;
}

/// What is chosen by: a value that is no number is larger than all.
float key_of(float value) {
  return std::isnan(value) ? std::numeric_limits<float>::infinity() : value;
}

/// The k best of n candidates, best first, in `best`; `key(i)` of candidate i, `allowed(i)` or not.
template <class Key, class Allowed>
void choose(std::int64_t n, std::int64_t k, std::int32_t* best, float* keys, Key key,
            Allowed allowed) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!allowed(i)) continue;
    const float value = key_of(key(i));
    if (found == k && !(value > keys[k - 1])) continue;
    std::int64_t at = found < k ? found++ : k - 1;
    for (; at > 0 && value > keys[at - 1]; --at) keys[at] = keys[at - 1], best[at] = best[at - 1];
    keys[at] = value;
    best[at] = static_cast<std::int32_t>(i);
  }
}

/// Chooses for one token after the other; its memory serves all of a thread's.
class Chooser {
 public:
  Chooser(const Router& r, const float* correction)
      : r_(r),
        correction_(correction),
        by_(static_cast<std::size_t>(r.experts)),
        keys_(static_cast<std::size_t>(std::max(r.per_token, r.kept_groups))),
        groups_(static_cast<std::size_t>(r.kept_groups)),
        kept_(static_cast<std::size_t>(r.groups)) {}

  void run(const float* scores, std::int32_t* chosen) {
    for (std::int64_t e = 0; e < r_.experts; ++e)
      by_[static_cast<std::size_t>(e)] = scores[e] + (correction_ ? correction_[e] : 0);
    const auto key = [&](std::int64_t e) { return by_[static_cast<std::size_t>(e)]; };
    if (r_.groups == 1)
      return choose(r_.experts, r_.per_token, chosen, keys_.data(), key,
                    [](std::int64_t) { return true; });
    const std::int64_t each = r_.experts / r_.groups;
    choose(
        r_.groups, r_.kept_groups, groups_.data(), keys_.data(),
        [&](std::int64_t g) { return of_group(by_.data() + g * each, each); },
        [](std::int64_t) { return true; });
    std::fill(kept_.begin(), kept_.end(), 0);
    for (const std::int32_t g : groups_) kept_[static_cast<std::size_t>(g)] = 1;
    choose(r_.experts, r_.per_token, chosen, keys_.data(), key,
           [&](std::int64_t e) { return kept_[static_cast<std::size_t>(e / each)] != 0; });
  }

 private:
  float of_group(const float* values, std::int64_t n) const {
    constexpr float least = -std::numeric_limits<float>::infinity();
    float first = least, second = least;
    for (std::int64_t i = 0; i < n; ++i) {
      const float value = key_of(values[i]);
      if (value > first)
        second = first, first = value;
      else if (value > second)
        second = value;
    }
    return r_.group_score == Router::GroupScore::largest ? first : first + second;
  }

  const Router& r_;
  const float* correction_;
  std::vector<float> by_, keys_;
  std::vector<std::int32_t> groups_;
  std::vector<char> kept_;
};

/// A token's weights before and after what is done to all of them.
void weigh(const Router& r, const float* scores, const std::int32_t* chosen, float* weights) {
  const std::int64_t k = r.per_token;
  for (std::int64_t j = 0; j < k; ++j) weights[j] = scores[chosen[j]];
  if (r.score == Router::Score::chosen_softmax) to_softmax(weights, k);
  float divisor = 1;
  if (r.normalized) {
    divisor = least_sum;
    for (std::int64_t j = 0; j < k; ++j) divisor += weights[j];
  }
  const auto scale = static_cast<float>(r.scale);
  for (std::int64_t j = 0; j < k; ++j) weights[j] = weights[j] / divisor * scale;
}

/// d_values of what `weigh` was given, in place of `d`, the gradients of its weights.
void weigh_backward(const Router& r, const float* scores, const std::int32_t* chosen,
                    const float* d_weights, float* d, float* values) {
  const std::int64_t k = r.per_token;
  const auto scale = static_cast<float>(r.scale);
  for (std::int64_t j = 0; j < k; ++j) values[j] = scores[chosen[j]], d[j] = scale * d_weights[j];
  const bool of_chosen = r.score == Router::Score::chosen_softmax;
  if (of_chosen) to_softmax(values, k);
  if (r.normalized) {
    float sum = least_sum, along = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += values[j];
    for (std::int64_t j = 0; j < k; ++j) along += d[j] * values[j] / sum;
    for (std::int64_t j = 0; j < k; ++j) d[j] = (d[j] - along) / sum;
  }
  if (!of_chosen) return;
  float along = 0;
  for (std::int64_t j = 0; j < k; ++j) along += d[j] * values[j];
  for (std::int64_t j = 0; j < k; ++j) d[j] = values[j] * (d[j] - along);
}

/// Logits become scores.
void to_scores(const Router& r, const Tensor& scores) {
  if (r.score == Router::Score::chosen_softmax) return;
  const TimedWork timed(Work::activation);
  const std::int64_t E = r.experts;
  tensor::parallel_for(0, scores.size(0), row_grain(E), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      float* const of = scores.as<float>() + n * E;
      if (r.score == Router::Score::softmax)
        to_softmax(of, E);
      else
        for (std::int64_t e = 0; e < E; ++e) of[e] = 1 / (1 + std::exp(-of[e]));
    }
  });
}

void add_bias(const Tensor& scores, const Tensor& bias) {
  const TimedWork timed(Work::activation);
  const std::int64_t E = scores.size(1);
  with_element(bias, [&]<class T>(T) {
    tensor::parallel_for(0, scores.size(0), row_grain(E),
                         [&](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t i = begin * E; i < end * E; ++i)
                             scores.as<float>()[i] += load(data<T>(bias)[i % E]);
                         });
  });
}

void sum_logits(const Tensor& log_sums, const Tensor& logits) {
  const TimedWork timed(Work::activation);
  const std::int64_t E = logits.size(1);
  tensor::parallel_for(0, logits.size(0), row_grain(E), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const float* const of = logits.as<const float>() + n * E;
      const float largest = *std::max_element(of, of + E);
      float sum = 0;
      for (std::int64_t e = 0; e < E; ++e) sum += std::exp(of[e] - largest);
      log_sums.as<float>()[n] = largest + std::log(sum);
    }
  });
}

/// d_logits[N, E] += of d_z[1].
void add_z_gradient(const Router& r, const Tensor& d_logits, const Tensor& scores,
                    const RouterZGradient& of_z) {
  const TimedWork timed(Work::activation);
  const std::int64_t E = r.experts;
  const float d = *of_z.d_z.as<const float>();
  tensor::parallel_for(0, scores.size(0), row_grain(E), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const float* const of = scores.as<const float>() + n * E;
      const float log_sum = of_z.log_sums.as<const float>()[n];
      for (std::int64_t e = 0; e < E; ++e) {
        const float share = r.score == Router::Score::softmax ? of[e] : std::exp(of[e] - log_sum);
        d_logits.as<float>()[n * E + e] += 2 * d * log_sum * share;
      }
    }
  });
}

}  // namespace

void cpu::router_scores(const Router& r, const Tensor& scores, const Tensor& log_sums,
                        const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const RouterCasts& casts, bool adds) {
  {
    const TimedWork timed(Work::matrix_product);
    note_gemm(x.size(0), r.experts, x.size(1));
    const at::Tensor w = in_float(weight, casts.weight).t();
    by_rows(x, casts.x, [&](std::int64_t first, std::int64_t count) {
      at::Tensor out = torch_view(scores.narrow(0, first, count));
      const at::Tensor some = in_float(x.narrow(0, first, count), casts.x);
      if (adds)
        at::addmm_out(out, out, some, w);
      else
        at::mm_out(out, some, w);
    });
  }
  if (bias.defined()) add_bias(scores, bias);
  if (log_sums.defined()) sum_logits(log_sums, scores);
  to_scores(r, scores);
}

void cpu::add_router_z(const Tensor& z, const Tensor& before, const Tensor& log_sums) {
  const TimedWork timed(Work::activation);
  double sum = 0;
  for (std::int64_t n = 0; n < log_sums.numel(); ++n) {
    const auto value = static_cast<double>(log_sums.as<const float>()[n]);
    sum += value * value;
  }
  *z.as<float>() = static_cast<float>(sum) + (before.defined() ? *before.as<const float>() : 0);
}

void cpu::router_backward_bias(const Tensor& d_bias, const Tensor& d_logits, bool accumulate,
                               const RouterCasts&) {
  const TimedWork timed(Work::activation);
  const std::int64_t E = d_logits.size(1);
  for (std::int64_t e = 0; e < E; ++e) {
    double sum = 0;
    for (std::int64_t n = 0; n < d_logits.size(0); ++n)
      sum += static_cast<double>(d_logits.as<const float>()[n * E + e]);
    d_bias.as<float>()[e] = static_cast<float>(sum) + (accumulate ? d_bias.as<float>()[e] : 0);
  }
}

void cpu::choose_experts(const Router& r, const Tensor& weights, const Tensor& indices,
                         const Tensor& scores, const Tensor& correction) {
  const TimedWork timed(Work::activation);
  const std::int64_t N = scores.size(0), E = r.experts, k = r.per_token;
  std::vector<float> added;
  if (correction.defined())
    with_element(correction, [&]<class T>(T) {
      for (std::int64_t e = 0; e < E; ++e) added.push_back(load(data<T>(correction)[e]));
    });
  tensor::parallel_for(0, N, row_grain(4 * E), [&](std::int64_t begin, std::int64_t end) {
    Chooser chooser(r, added.empty() ? nullptr : added.data());
    std::vector<std::int32_t> chosen(static_cast<std::size_t>(k));
    for (std::int64_t n = begin; n < end; ++n) {
      const float* const of = scores.as<const float>() + n * E;
      chooser.run(of, chosen.data());
      if (indices.defined())
        std::copy(chosen.begin(), chosen.end(), indices.as<std::int32_t>() + n * k);
      if (weights.defined()) weigh(r, of, chosen.data(), weights.as<float>() + n * k);
    }
  });
}

void cpu::balance_experts(const Router& r, const Tensor& balanced, const Tensor& before,
                          const Tensor& scores, const Tensor& indices) {
  const TimedWork timed(Work::activation);
  const std::int64_t N = scores.size(0), E = r.experts, k = r.per_token;
  std::vector<double> sums(static_cast<std::size_t>(2 * E));
  std::vector<float> share(static_cast<std::size_t>(E));
  for (std::int64_t n = 0; n < N; ++n) {
    const float* const of = scores.as<const float>() + n * E;
    std::copy(of, of + E, share.begin());
    if (r.score == Router::Score::chosen_softmax) to_softmax(share.data(), E);
    for (std::int64_t e = 0; e < E; ++e)
      sums[static_cast<std::size_t>(E + e)] +=
          static_cast<double>(share[static_cast<std::size_t>(e)]);
    for (std::int64_t j = n * k; j < (n + 1) * k; ++j)
      ++sums[static_cast<std::size_t>(indices.as<const std::int32_t>()[j])];
  }
  for (std::int64_t i = 0; i < 2 * E; ++i)
    balanced.as<float>()[i] = static_cast<float>(sums[static_cast<std::size_t>(i)]) +
                              (before.defined() ? before.as<const float>()[i] : 0);
}

void cpu::router_scores_backward(const Router& r, const Tensor& d_logits, const Tensor& d_weights,
                                 const Tensor& d_balanced, const RouterZGradient& of_z,
                                 const Tensor& scores, const Tensor& indices, const RouterCasts&) {
  const TimedWork timed(Work::activation);
  const std::int64_t N = scores.size(0), E = r.experts, k = r.per_token;
  // of each token's softmax over all experts
  const float* const of_share = d_balanced.defined() ? d_balanced.as<const float>() + E : nullptr;
  tensor::parallel_for(0, N, row_grain(E), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> d(static_cast<std::size_t>(k)), values(static_cast<std::size_t>(k)),
        shares(static_cast<std::size_t>(E));
    for (std::int64_t n = begin; n < end; ++n) {
      const float* const of = scores.as<const float>() + n * E;
      const std::int32_t* const chosen = indices.as<const std::int32_t>() + n * k;
      float* const to = d_logits.as<float>() + n * E;
      weigh_backward(r, of, chosen, d_weights.as<const float>() + n * k, d.data(), values.data());
      const bool of_all = r.score == Router::Score::softmax;
      float along = 0;  // of a softmax over all experts
      if (of_all)
        for (std::int64_t j = 0; j < k; ++j)
          along += d[static_cast<std::size_t>(j)] * of[chosen[j]];
      const float* share = of;
      if (of_share && !of_all) {
        std::copy(of, of + E, shares.begin());
        to_softmax(shares.data(), E);
        share = shares.data();
      }
      if (of_share)
        for (std::int64_t e = 0; e < E; ++e) along += of_share[e] * share[e];
      for (std::int64_t e = 0; e < E; ++e)
        to[e] = of_all || of_share ? share[e] * ((of_share ? of_share[e] : 0) - along) : 0;
      for (std::int64_t j = 0; j < k; ++j) {
        const float s = of[chosen[j]], slope = d[static_cast<std::size_t>(j)];
        switch (r.score) {
          case Router::Score::softmax: to[chosen[j]] += slope * s; break;
          case Router::Score::sigmoid: to[chosen[j]] += slope * s * (1 - s); break;
          case Router::Score::chosen_softmax: to[chosen[j]] += slope; break;
        }
      }
    }
  });
  if (of_z.d_z.defined()) add_z_gradient(r, d_logits, scores, of_z);
}

void cpu::router_backward_input(const Tensor& dx, const Tensor& d_logits, const Tensor& weight,
                                const Tensor& addend, const RouterCasts& casts) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(dx.size(0), dx.size(1), d_logits.size(1));
  const at::Tensor w = in_float(weight, casts.weight);
  by_rows(dx, casts.d_x, [&](std::int64_t first, std::int64_t count) {
    const Tensor to = dx.narrow(0, first, count);
    const at::Tensor d = torch_view(d_logits.narrow(0, first, count));
    at::Tensor out = torch_view(
        to.dtype == DType::f32 ? to : casts.d_x.view({-1}).narrow(0, 0, to.numel()).view(to.dims));
    if (to.dtype == DType::f32 && addend.defined()) {
      at::addmm_out(out, torch_view(addend.narrow(0, first, count)), d, w);
      return;
    }
    at::mm_out(out, d, w);
    if (to.dtype == DType::f32) return;
    if (addend.defined()) out.add_(torch_view(addend.narrow(0, first, count)));
    torch_view(to).copy_(out);
  });
}

void cpu::router_backward_weight(const Tensor& d_weight, const Tensor& d_logits, const Tensor& x,
                                 bool accumulate, const RouterCasts& casts) {
  const TimedWork timed(Work::matrix_product);
  note_gemm(d_logits.size(1), x.size(1), x.size(0));
  at::Tensor out = torch_view(d_weight);
  by_rows(x, casts.x, [&](std::int64_t first, std::int64_t count) {
    const at::Tensor d = torch_view(d_logits.narrow(0, first, count)).t(),
                     rows = in_float(x.narrow(0, first, count), casts.x);
    if (accumulate || first > 0)
      at::addmm_out(out, out, d, rows);
    else
      at::mm_out(out, d, rows);
  });
}

}  // namespace trainx::operations
