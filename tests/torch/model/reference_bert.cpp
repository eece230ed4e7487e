#include "reference_bert.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <cmath>

namespace trainx::model::test {

BertResult reference_bert(const architectures::BertDims& d,
                          const std::map<std::string, at::Tensor>& weights, const BertBatch& batch,
                          std::uint64_t seed, double loss_seed, at::ScalarType compute) {
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

  const std::string e = "bert.embeddings.";
  const at::Tensor word = w.at(e + "word_embeddings.weight");
  const at::Tensor sum =
      at::embedding(word, batch.tokens.to(at::kLong), d.pad_token) +
      w.at(e + "position_embeddings.weight").narrow(0, 0, T) +
      at::embedding(w.at(e + "token_type_embeddings.weight"), batch.token_types.to(at::kLong));
  at::Tensor x = drop(norm(sum, e + "LayerNorm"));
  // 0, or -inf for padding
  const at::Tensor seen = at::arange(T, at::kInt)
                              .unsqueeze(0)
                              .lt(batch.lengths.unsqueeze(1))
                              .to(compute)
                              .log()
                              .view({B, 1, 1, T});
  for (std::int64_t i = 0; i < d.num_layers; ++i) {
    const std::string layer = "bert.encoder.layer." + std::to_string(i) + ".";
    auto heads = [&](const char* part) {
      return linear(x, layer + "attention.self." + part).view({B, T, H, C / H}).transpose(1, 2);
    };
    const at::Tensor query = heads("query"), key = heads("key"), value = heads("value");
    auto by_definition = [&] {
      return at::matmul(
          at::softmax(
              at::matmul(query, key.transpose(2, 3)) / std::sqrt(static_cast<double>(C / H)) + seen,
              -1),
          value);
    };
    const at::Tensor by_head = compute == at::kDouble
                                   ? by_definition()
                                   : at::scaled_dot_product_attention(query, key, value, seen);
    const at::Tensor attended = by_head.transpose(1, 2).reshape({B, T, C});
    // the block that adds the branch: embedding is 0, the layer's attention 2 i + 1
    block = static_cast<std::uint32_t>(2 * i + 2);
    x = norm(x + drop(linear(attended, layer + "attention.output.dense")),
             layer + "attention.output.LayerNorm");
    const at::Tensor inner = at::gelu(linear(x, layer + "intermediate.dense"));
    block = static_cast<std::uint32_t>(2 * i + 3);
    x = norm(x + drop(linear(inner, layer + "output.dense")), layer + "output.LayerNorm");
  }
  BertResult result;
  result.hidden = x.detach();
  at::Tensor logits, targets;
  if (d.task == architectures::Task::classification) {
    at::Tensor pooled = at::tanh(linear(x.select(1, 0), "bert.pooler.dense"));
    if (d.dropout > 0)
      pooled = (pooled.to(at::kDouble) *
                reference_dropout(d.dropout, seed, block, batch.positions, 1, C, 1).view({B, C}))
                   .to(compute);
    logits = linear(pooled, "classifier");
    targets = batch.labels;
  } else {
    const std::string head = "cls.predictions.";
    const at::Tensor transformed =
        norm(at::gelu(linear(x, head + "transform.dense")), head + "transform.LayerNorm");
    logits = at::linear(transformed, word.narrow(0, 0, d.vocab_size),
                        w.at(head + "bias").narrow(0, 0, d.vocab_size));
    targets = batch.targets;
  }
  const at::Tensor loss = at::cross_entropy_loss(
      (compute == at::kDouble ? logits : logits.to(at::kFloat)).view({-1, logits.size(-1)}),
      targets.to(at::kLong).view({-1}), {}, /*sum*/ 2, -100);
  (loss * loss_seed).backward();
  result.loss_sum = loss.item<double>();
  result.target_count = targets.ne(-100).sum().item<double>();
  result.logits = logits.detach();
  for (const auto& [name, t] : w)
    result.gradients[name] = t.grad().defined() ? t.grad().to(at::kDouble)
                                                : at::zeros_like(t, at::kDouble);
  return result;
}

}  // namespace trainx::model::test
