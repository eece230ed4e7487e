#include "operations/attention/torch_attention.hpp"
#include "operations/attention/math_attention.hpp"
#include "core/error.hpp"
#include "operations/common/gpu.hpp"
#include "operations/attention/torch_cuda.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_efficient_attention_backward.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace trainx::operations::cuda {

using tensor::torch_view;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// While one lives LibTorch's kernels that have a deterministic variant take it. Its other effect,
/// memory that is filled before use, is left out.
class Deterministic {
 public:
  explicit Deterministic(bool on)
      : context_(at::globalContext()),
        before_(context_.deterministicAlgorithms()),
        filled_before_(context_.deterministicFillUninitializedMemory()) {
    context_.setDeterministicAlgorithms(on, false);
    context_.setDeterministicFillUninitializedMemory(false);
  }
  ~Deterministic() {
    context_.setDeterministicAlgorithms(before_, false);
    context_.setDeterministicFillUninitializedMemory(filled_before_);
  }
  Deterministic(const Deterministic&) = delete;

 private:
  at::Context& context_;
  bool before_, filled_before_;
};

struct Sizes {
  explicit Sizes(const at::Tensor& qkv)
      : B(qkv.size(0)), T(qkv.size(1)), H(qkv.size(3)), D(qkv.size(4)) {}
  std::int64_t B, T, H, D;
};

/// Zeros in rows that are padding; x[B, T, ...].
void clear_padding(const at::Tensor& x, const at::Tensor& lengths) {
  if (!lengths.defined()) return;
  const at::Tensor past = padding(lengths, x.size(1));
  std::vector<std::int64_t> dims(static_cast<std::size_t>(x.dim()), 1);
  dims[0] = x.size(0), dims[1] = x.size(1);
  x.masked_fill_(past.view(dims), 0);
}

void put_parts(const at::Tensor& d_qkv, const at::Tensor& d_q, const at::Tensor& d_k,
               const at::Tensor& d_v) {
  const std::int64_t parts = d_qkv.dim() - 3;  // [B, T, 3, H, D] or [N, 3, H, D]
  d_qkv.select(parts, 0).copy_(d_q);
  d_qkv.select(parts, 1).copy_(d_k);
  d_qkv.select(parts, 2).copy_(d_v);
}

/// Flash attention knows no mask, and sequences of many lengths that lie one after the other. Each
/// sample is one, and so is its padding, whose results mean nothing and are cleared: i32 [2 B + 1],
/// where they begin.
at::Tensor sequences(const at::Tensor& lengths, std::int64_t tokens) {
  const std::int64_t B = lengths.size(0);
  const at::Tensor begins = at::arange(B + 1, lengths.options()).mul_(tokens),
                   cuts = at::empty({2 * B + 1}, lengths.options());
  cuts.slice(0, 0, 2 * B + 1, 2).copy_(begins);
  cuts.slice(0, 1, 2 * B + 1, 2).copy_(begins.narrow(0, 0, B) + lengths);
  return cuts;
}

void flash(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv,
           const MaskOperands& sight) {
  const Sizes s(qkv);
  if (!sight.lengths.defined()) {
    const auto result = at::_flash_attention_forward(qkv.select(2, 0), qkv.select(2, 1),
                                                     qkv.select(2, 2), std::nullopt, std::nullopt,
                                                     s.T, s.T, 0.0, sight.causal, false);
    out.copy_(std::get<0>(result));
    lse.view({s.B, s.H, s.T}).copy_(std::get<1>(result));
    return;
  }
  const at::Tensor rows = qkv.view({s.B * s.T, 3, s.H, s.D}), cuts = sequences(sight.lengths, s.T);
  const auto result = at::_flash_attention_forward(rows.select(1, 0), rows.select(1, 1),
                                                   rows.select(1, 2), cuts, cuts, s.T, s.T, 0.0,
                                                   sight.causal, false);
  out.view({s.B * s.T, s.H, s.D}).copy_(std::get<0>(result));
  lse.view({s.H, s.B * s.T}).copy_(std::get<1>(result));
  clear_padding(out, sight.lengths);
}

void flash_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv,
                    const at::Tensor& out, const at::Tensor& lse, const MaskOperands& sight,
                    bool deterministic) {
  const Sizes s(qkv);
  const Deterministic as_asked(deterministic);
  const at::Tensor none;  // no dropout: nothing random to repeat
  if (!sight.lengths.defined()) {
    const auto [d_q, d_k, d_v] = at::_flash_attention_backward(
        d_out, qkv.select(2, 0), qkv.select(2, 1), qkv.select(2, 2), out, lse.view({s.B, s.H, s.T}),
        none, none, s.T, s.T, 0.0, sight.causal, none, none);
    return put_parts(d_qkv, d_q, d_k, d_v);
  }
  const std::int64_t N = s.B * s.T;
  const at::Tensor rows = qkv.view({N, 3, s.H, s.D}), cuts = sequences(sight.lengths, s.T);
  const auto [d_q, d_k, d_v] =
      at::_flash_attention_backward(d_out.view({N, s.H, s.D}), rows.select(1, 0), rows.select(1, 1),
                                    rows.select(1, 2), out.view({N, s.H, s.D}), lse.view({s.H, N}),
                                    cuts, cuts, s.T, s.T, 0.0, sight.causal, none, none);
  put_parts(d_qkv.view({N, 3, s.H, s.D}), d_q, d_k, d_v);
  clear_padding(d_qkv, sight.lengths);
}

// Of sdp::CustomMaskType.
std::int64_t mask_of(const MaskOperands& sight) { return sight.causal ? 1 : 0; }

/// Added to scores: -infinity for keys that are padding. [B, H, T, T], a row for each sample; none
/// where rows are full.
std::optional<at::Tensor> bias_of(const at::Tensor& qkv, const MaskOperands& sight) {
  if (!sight.lengths.defined()) return std::nullopt;
  const Sizes s(qkv);
  // each row begins at a multiple of 16 elements
  const at::Tensor rows = at::zeros({s.B, (s.T + 15) / 16 * 16}, qkv.options()).narrow(1, 0, s.T);
  rows.masked_fill_(padding(sight.lengths, s.T), -infinity);
  return rows.view({s.B, 1, 1, s.T}).expand({s.B, s.H, s.T, s.T});
}

void efficient(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv,
               const MaskOperands& sight) {
  const Sizes s(qkv);
  const auto result = at::_efficient_attention_forward(
      qkv.select(2, 0), qkv.select(2, 1), qkv.select(2, 2), bias_of(qkv, sight), std::nullopt,
      std::nullopt, std::nullopt, std::nullopt, 0.0, mask_of(sight), true);
  out.copy_(std::get<0>(result));
  lse.view({s.B, s.H, s.T}).copy_(std::get<1>(result).narrow(2, 0, s.T));
  clear_padding(out, sight.lengths);
}

void efficient_backward(const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv,
                        const at::Tensor& out, const at::Tensor& lse, const MaskOperands& sight,
                        bool deterministic) {
  const Sizes s(qkv);
  at::Tensor sums = lse.view({s.B, s.H, s.T}), d = d_out;
  // its kernels want rows of a multiple of 32
  if (const std::int64_t padded = (s.T + 31) / 32 * 32; padded != s.T) {
    const at::Tensor wide = at::full({s.B, s.H, padded}, infinity, sums.options());
    wide.narrow(2, 0, s.T).copy_(sums);
    sums = wide;
  }
  // what comes into padding gives nothing to the keys that it saw
  if (sight.lengths.defined()) {
    d = d_out.clone();
    clear_padding(d, sight.lengths);
  }
  // of the keys: several add up in any order
  const std::optional<std::int64_t> parts = deterministic ? std::optional<std::int64_t>(1)
                                                          : std::nullopt;
  const at::Tensor none;
  const auto gradients = at::_efficient_attention_backward(
      d, qkv.select(2, 0), qkv.select(2, 1), qkv.select(2, 2), bias_of(qkv, sight), out,
      std::nullopt, std::nullopt, s.T, s.T, sums, 0.0, none, none, mask_of(sight), false,
      std::nullopt, parts);
  put_parts(d_qkv, std::get<0>(gradients), std::get<1>(gradients), std::get<2>(gradients));
  clear_padding(d_qkv, sight.lengths);
}

TorchCuda& torch_of(const Gpu& gpu, AttentionKind kind) {
  if (!gpu.torch)
    throw InternalError("attention by " + std::string(name_of(kind)) +
                        " without LibTorch's CUDA half");
  return *gpu.torch;
}

TorchCuda& torch_for(const Gpu& gpu, AttentionKind kind, const MaskOperands& sight) {
  if (sight.starts.defined() && kind != AttentionKind::math)
    throw InternalError("attention inside documents by " + std::string(name_of(kind)));
  return torch_of(gpu, kind);
}

const char* doing(AttentionKind kind, bool backward) {
  if (kind == AttentionKind::flash)
    return backward ? "the backward of attention by flash" : "attention by flash";
  if (kind == AttentionKind::efficient)
    return backward ? "the backward of attention by efficient" : "attention by efficient";
  return backward ? "the backward of attention by math" : "attention by math";
}

}  // namespace

void torch_attention(const Gpu& gpu, AttentionKind kind, const Tensor& out, const Tensor& lse,
                     const Tensor& qkv, const MaskOperands& sight) {
  const at::Tensor o = torch_view(out), l = torch_view(lse), x = torch_view(qkv);
  torch_for(gpu, kind, sight).run(doing(kind, false), [&] {
    if (kind == AttentionKind::flash)
      flash(o, l, x, sight);
    else if (kind == AttentionKind::efficient)
      efficient(o, l, x, sight);
    else
      math_attention(o, l.view({x.size(0), x.size(3), x.size(1)}), x, sight);
  });
}

void torch_attention_backward(const Gpu& gpu, AttentionKind kind, const Tensor& d_qkv,
                              const Tensor& d_out, const Tensor& qkv, const Tensor& out,
                              const Tensor& lse, const MaskOperands& sight) {
  const at::Tensor dx = torch_view(d_qkv), d = torch_view(d_out), x = torch_view(qkv),
                   o = torch_view(out), l = torch_view(lse);
  torch_for(gpu, kind, sight).run(doing(kind, true), [&] {
    if (kind == AttentionKind::flash)
      flash_backward(dx, d, x, o, l, sight, gpu.deterministic);
    else if (kind == AttentionKind::efficient)
      efficient_backward(dx, d, x, o, l, sight, gpu.deterministic);
    else
      math_attention_backward(dx, d, x, o, sight);
  });
}

}  // namespace trainx::operations::cuda
