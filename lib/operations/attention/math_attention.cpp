#include "operations/attention/math_attention.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>
#include <cmath>
#include <limits>

namespace trainx::operations {
namespace {

/// [B, T, H, D] as matrices [B * H, T, D], a copy.
at::Tensor by_head(const at::Tensor& x) {
  return x.transpose(1, 2).contiguous().view({x.size(0) * x.size(2), x.size(1), x.size(3)});
}
at::Tensor by_head(const at::Tensor& qkv, int part) { return by_head(qkv.select(2, part)); }
/// The other way, as a view.
at::Tensor by_sample(const at::Tensor& matrices, const at::Tensor& like) {
  return matrices.view({like.size(0), like.size(2), like.size(1), like.size(3)}).transpose(1, 2);
}

double scale(const at::Tensor& qkv) { return 1 / std::sqrt(static_cast<double>(qkv.size(4))); }

/// factor * a b. In the product itself: what a 16-bit score cannot hold before it is scaled does
/// not overflow.
at::Tensor scaled_product(const at::Tensor& a, const at::Tensor& b, double factor) {
  return at::empty({a.size(0), a.size(1), b.size(2)}, a.options()).baddbmm_(a, b, 0, factor);
}

struct Softmax {
  at::Tensor probabilities;  // f32 [B, H, T, T]
  at::Tensor lse;            // f32 [B, H, T, 1]
};

/// One matrix of scores after the other gives way: each line needs no more than the one before.
Softmax softmax_of_scores(const at::Tensor& qkv, const MaskOperands& sight) {
  const std::int64_t B = qkv.size(0), T = qkv.size(1), H = qkv.size(3);
  // not -infinity: a row of nothing else then is no NaN
  constexpr float hidden = std::numeric_limits<float>::lowest();
  at::Tensor s = scaled_product(by_head(qkv, 0), by_head(qkv, 1).transpose(1, 2), scale(qkv))
                     .to(at::kFloat)
                     .view({B, H, T, T});
  if (sight.causal)
    s.masked_fill_(at::ones({T, T}, qkv.options().dtype(at::kBool)).triu_(1), hidden);
  if (sight.lengths.defined()) s.masked_fill_(padding(sight.lengths, T).view({B, 1, 1, T}), hidden);
  if (sight.starts.defined())
    s.masked_fill_(
        (at::arange(T, sight.starts.options()).view({1, 1, T}) < sight.starts.unsqueeze(2))
            .unsqueeze(1),
        hidden);
  const at::Tensor largest = s.amax({-1}, true);
  s.sub_(largest).exp_();
  const at::Tensor sum = s.sum({-1}, true);
  s.div_(sum);
  return {s, sum.log().add_(largest)};
}

at::Tensor as_matrices(const at::Tensor& scores) {
  return scores.view({-1, scores.size(2), scores.size(3)});
}

}  // namespace

at::Tensor padding(const at::Tensor& lengths, std::int64_t tokens) {
  return at::arange(tokens, lengths.options()).unsqueeze(0) >= lengths.unsqueeze(1);
}

at::Tensor MaskOperands::padding(std::int64_t tokens) const {
  return starts.defined()    ? starts < 0
         : lengths.defined() ? operations::padding(lengths, tokens)
                             : at::Tensor();
}

void math_attention(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv,
                    const MaskOperands& sight) {
  at::Tensor p;
  {
    const Softmax softmax = softmax_of_scores(qkv, sight);
    lse.copy_(softmax.lse.squeeze(-1));
    p = as_matrices(softmax.probabilities.to(qkv.scalar_type()));
  }
  out.copy_(by_sample(at::bmm(p, by_head(qkv, 2)), out));
  const at::Tensor past = sight.padding(qkv.size(1));
  if (!past.defined()) return;
  out.masked_fill_(past.view({out.size(0), out.size(1), 1, 1}), 0);
  lse.masked_fill_(past.unsqueeze(1), 0);
}

void math_attention_backward(const at::Tensor& d_qkv, const at::Tensor& d_out,
                             const at::Tensor& qkv, const at::Tensor& out,
                             const MaskOperands& sight) {
  at::Tensor p = as_matrices(softmax_of_scores(qkv, sight).probabilities);
  const at::Tensor d = by_head(d_out);
  // a padded query then gives nothing to any key, and a padded key has a probability of 0, or that
  // query alone
  if (const at::Tensor past = sight.padding(qkv.size(1)); past.defined())
    d.view({d_out.size(0), d_out.size(2), d_out.size(1), d_out.size(3)})
        .masked_fill_(past.view({d_out.size(0), 1, d_out.size(1), 1}), 0);
  d_qkv.select(2, 2).copy_(by_sample(at::bmm(p.to(qkv.scalar_type()).transpose(1, 2), d), out));
  // Of a softmax: ds = p (dp - sum p dp), where the sum is that of the row's output times its
  // gradient. It lives on while what it is summed from does not: in place before that, it leaves no
  // gap in a workspace.
  const at::Tensor row = at::empty({d.size(0), d.size(1), 1}, d.options().dtype(at::kFloat));
  at::sum_out(const_cast<at::Tensor&>(row), d.to(at::kFloat) * by_head(out).to(at::kFloat), {-1},
              true);
  at::Tensor ds = at::bmm(d, by_head(qkv, 2).transpose(1, 2)).to(at::kFloat);
  ds.sub_(row).mul_(p);
  p.reset();
  ds = ds.to(qkv.scalar_type());
  d_qkv.select(2, 0).copy_(by_sample(scaled_product(ds, by_head(qkv, 1), scale(qkv)), out));
  d_qkv.select(2, 1).copy_(
      by_sample(scaled_product(ds.transpose(1, 2), by_head(qkv, 0), scale(qkv)), out));
}

}  // namespace trainx::operations
