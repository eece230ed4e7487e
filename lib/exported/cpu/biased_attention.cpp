#include "exported/cpu/biased_attention.hpp"
#include "operations/common/exp.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>
#include <cmath>
#include <limits>

namespace trainx::exported::cpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Scores become probabilities; zeros where every one is -infinity.
TRAINX_CLONES void softmax_row(float* scores, const float* bias, float scale, std::int64_t n) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  float most = lowest, sum = 0;
#pragma omp simd reduction(max : most)
  for (std::int64_t k = 0; k < n; ++k) {
    scores[k] = scores[k] * scale + bias[k];
    most = scores[k] > most ? scores[k] : most;
  }
  if (most == lowest) most = 0;  // NaN stays NaN
#pragma omp simd reduction(+ : sum)
  for (std::int64_t k = 0; k < n; ++k) {
    scores[k] = operations::exp_non_positive(scores[k] - most);
    sum += scores[k];
  }
  const float factor = sum == 0 ? 0 : 1 / sum;
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) scores[k] *= factor;
}

/// Gradients of probabilities become those of what softmax was of.
TRAINX_CLONES void softmax_row_backward(float* d, const float* probabilities, std::int64_t n) {
  float product = 0;
#pragma omp simd reduction(+ : product)
  for (std::int64_t k = 0; k < n; ++k) product += d[k] * probabilities[k];
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) d[k] = probabilities[k] * (d[k] - product);
}

/// [B, H, T, D] in the memory of [B, T, H, D], as linear operators beside attention have it.
at::Tensor by_token(const at::Tensor& like) {
  return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options())
      .transpose(1, 2);
}

/// to[B, H, M, N] = a[B, H, M, K] b[B, H, K, N], sample by sample: none is copied to stand dense.
void multiply(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b) {
  for (std::int64_t s = 0; s < to.size(0); ++s) {
    at::Tensor of_sample = to.select(0, s);
    at::bmm_out(of_sample, a.select(0, s), b.select(0, s));
  }
}

/// scores[B, H, T, S] of queries[B, H, T, D] and keys[B, H, S, D].
at::Tensor products(const at::Tensor& queries, const at::Tensor& keys) {
  at::Tensor to = at::empty({queries.size(0), queries.size(1), queries.size(2), keys.size(2)},
                            queries.options());
  multiply(to, queries, keys.transpose(2, 3));
  return to;
}

struct BiasedAttention : torch::autograd::Function<BiasedAttention> {
  static at::Tensor forward(AutogradContext* c, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const at::Tensor& bias, double scale) {
    const at::Tensor scores = products(query, key);
    const std::int64_t H = scores.size(1), T = scores.size(2), S = scores.size(3);
    const at::Tensor added =
        (bias.size(-1) == 1 || bias.stride(-1) == 1 ? bias : bias.contiguous()).expand_as(scores);
    const at::Tensor biases = added.stride(-1) == 1 ? added : added.contiguous();
    float* const to = scores.mutable_data_ptr<float>();
    const float* const from = biases.const_data_ptr<float>();
    tensor::parallel_for(0, scores.size(0) * H * T, operations::row_grain(S),
                         [&](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t row = begin; row < end; ++row)
                             softmax_row(to + row * S,
                                         from + row / (H * T) * biases.stride(0) +
                                             row / T % H * biases.stride(1) +
                                             row % T * biases.stride(2),
                                         static_cast<float>(scale), S);
                         });
    at::Tensor out = by_token(query);
    multiply(out, scores, value);
    c->save_for_backward({query, key, value, scores});
    c->saved_data["scale"] = scale;
    c->saved_data["bias"] = bias.sizes();
    return out;
  }

  static variable_list backward(AutogradContext* c, const variable_list& gradients) {
    const variable_list saved = c->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &value = saved[2], &p = saved[3];
    const at::Tensor& d = gradients[0];
    const double scale = c->saved_data["scale"].toDouble();
    at::Tensor d_query = by_token(query), d_key = by_token(key), d_value = by_token(value);
    multiply(d_value, p.transpose(2, 3), d);
    const at::Tensor d_scores = products(d, value);
    const std::int64_t S = p.size(3);
    float* const to = d_scores.mutable_data_ptr<float>();
    const float* const from = p.const_data_ptr<float>();
    tensor::parallel_for(0, p.numel() / S, operations::row_grain(S),
                         [&](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t row = begin; row < end; ++row)
                             softmax_row_backward(to + row * S, from + row * S, S);
                         });
    multiply(d_query, d_scores, key);
    multiply(d_key, d_scores.transpose(2, 3), query);
    if (scale != 1) d_query.mul_(scale), d_key.mul_(scale);
    const at::Tensor d_bias = at::sum_to(d_scores, c->saved_data["bias"].toIntVector());
    return {d_query, d_key, d_value, d_bias, at::Tensor()};
  }
};

bool is_of_heads(const at::Tensor& t) { return t.scalar_type() == at::kFloat && t.dim() == 4; }

}  // namespace

bool attend_with_bias(std::vector<c10::IValue>& stack) {
  if (!stack.at(3).isTensor() || stack.at(4).toDouble() != 0 || stack.at(5).toBool() ||
      stack.at(7).toBool())
    return false;
  const at::Tensor query = stack[0].toTensor(), key = stack[1].toTensor(),
                   value = stack[2].toTensor(), bias = stack[3].toTensor();
  if (!is_of_heads(query) || !is_of_heads(key) || !is_of_heads(value) ||
      bias.scalar_type() != at::kFloat || query.numel() == 0 || key.numel() == 0)
    return false;
  const std::int64_t B = query.size(0), H = query.size(1), D = query.size(3), S = key.size(2);
  const bool fits = key.sizes() == at::IntArrayRef({B, H, S, D}) &&
                    value.sizes() == at::IntArrayRef({B, H, S, D}) && bias.dim() > 0 &&
                    at::is_expandable_to(bias.sizes(), {B, H, query.size(2), S});
  if (!fits) return false;
  const double scale = stack.at(6).isNone() ? 1 / std::sqrt(static_cast<double>(D))
                                            : stack[6].toDouble();
  stack = {BiasedAttention::apply(query, key, value, bias, scale)};
  return true;
}

}  // namespace trainx::exported::cpu
