#include "reference_gpt2.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros_like.h>
#include <cmath>

namespace trainx::model::test {

ReferenceResult reference_gpt2(const architectures::Gpt2Dims& d,
                               const std::map<std::string, at::Tensor>& weights,
                               const ReferenceBatch& batch, std::uint64_t seed, double loss_seed,
                               at::ScalarType compute) {
  const std::int64_t B = batch.tokens.size(0), T = batch.tokens.size(1), C = d.hidden_size,
                     H = d.num_heads;
  std::map<std::string, at::Tensor> w;
  for (const auto& [name, t] : weights)
    w[name] = t.to(compute).clone().detach().requires_grad_(true);
  std::uint32_t block = 0;
  auto drop = [&](const at::Tensor& x) {
    return d.dropout > 0 ? (x.to(at::kDouble) *
                            reference_dropout(d.dropout, seed, block, batch.positions, T, C))
                               .to(compute)
                         : x;
  };
  auto norm = [&](const at::Tensor& x, const std::string& name) {
    return at::layer_norm(x, {C}, w.at(name + ".weight"), w.at(name + ".bias"),
                          d.layer_norm_epsilon);
  };
  auto linear = [&](const at::Tensor& x, const std::string& name) {
    return at::linear(x, w.at(name + ".weight"), w.at(name + ".bias"));
  };

  at::Tensor x = drop(at::embedding(w.at("wte.weight"), batch.tokens.to(at::kLong)) +
                      w.at("wpe.weight").narrow(0, 0, T));
  const at::Tensor mask =
      at::tril(at::ones({T, T}, at::kDouble)).log();  // 0 where seen, -inf ahead
  for (std::int64_t i = 0; i < d.num_layers; ++i) {
    const std::string h = "h." + std::to_string(i);
    const at::Tensor qkv = linear(norm(x, h + ".ln_1"), h + ".attn.c_attn")
                               .view({B, T, 3, H, C / H})
                               .permute({2, 0, 3, 1, 4});
    auto by_definition = [&] {
      return at::matmul(at::softmax(at::matmul(qkv[0], qkv[1].transpose(2, 3)) /
                                            std::sqrt(static_cast<double>(C / H)) +
                                        mask,
                                    -1),
                        qkv[2]);
    };
    const at::Tensor by_head =
        compute == at::kDouble
            ? by_definition()
            : at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0.0, /*is_causal=*/true);
    const at::Tensor attended = by_head.transpose(1, 2).reshape({B, T, C});
    // the block that adds the branch: embedding is 0, the layer's attention 2 i + 1
    block = static_cast<std::uint32_t>(2 * i + 2);
    x = x + drop(linear(attended, h + ".attn.c_proj"));
    const at::Tensor inner = at::gelu(linear(norm(x, h + ".ln_2"), h + ".mlp.c_fc"), "tanh");
    block = static_cast<std::uint32_t>(2 * i + 3);
    x = x + drop(linear(inner, h + ".mlp.c_proj"));
  }
  ReferenceResult result;
  const at::Tensor logits =
      at::linear(norm(x, "ln_f"), w.at("wte.weight").narrow(0, 0, d.vocab_size));
  const at::Tensor loss = at::cross_entropy_loss(
      (compute == at::kDouble ? logits : logits.to(at::kFloat)).view({B * T, d.vocab_size}),
      batch.targets.to(at::kLong).view({-1}), {}, /*sum*/ 2, -100);
  (loss * loss_seed).backward();
  result.loss_sum = loss.item<double>();
  result.target_count = batch.targets.ne(-100).sum().item<double>();
  result.logits = logits.detach();
  for (const auto& [name, t] : w)
    result.gradients[name] = t.grad().defined() ? t.grad().to(at::kDouble)
                                                : at::zeros_like(t, at::kDouble);
  return result;
}

}  // namespace trainx::model::test
