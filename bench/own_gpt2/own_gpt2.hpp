// GPT-2 (Radford et al. 2019) of torch::nn modules, as bench/peers/gpt2_model.py has it: one packed
// QKV product, LibTorch's fused attention, tied embeddings.
#pragma once
#include <torch/torch.h>
#include <trainx/dropout.hpp>
#include <trainx/worker.hpp>
#include <cmath>
#include <cstdint>
#include <string>

struct OwnGpt2Options {
  std::int64_t vocab_size = 0, max_positions = 0;
  std::int64_t num_layers = 12, num_heads = 12, hidden_size = 768;
  double dropout = 0;
};

template <class Visitor>
void visit_fields(Visitor& field, OwnGpt2Options& o) {
  field("vocab_size", o.vocab_size, trainx::non_negative(),
        "tokens of the vocabulary; 0: the data source's");
  field("max_positions", o.max_positions, trainx::non_negative(),
        "learned positions; 0: data.sequence_length");
  field("num_layers", o.num_layers, trainx::at_least(1), "transformer blocks");
  field("num_heads", o.num_heads, trainx::at_least(1), "attention heads, which divide hidden_size");
  field("hidden_size", o.hidden_size, trainx::at_least(1), "features of a token");
  field("dropout", o.dropout, trainx::unit_interval(), "of embeddings and branches");
}

struct OwnEmbeddingImpl : torch::nn::Module {
  OwnEmbeddingImpl(const OwnGpt2Options& o, torch::Tensor tokens_table,
                   std::int64_t positions_count)
      : dropout(o.dropout),
        tokens(register_parameter("tokens", std::move(tokens_table))),
        positions(register_parameter("positions",
                                     0.02 * torch::randn({positions_count, o.hidden_size}))) {}
  torch::Tensor forward(const torch::Tensor& ids) {  // [B, T] to [B, T, hidden]
    return trainx::dropout(torch::embedding(tokens, ids) + positions.narrow(0, 0, ids.size(1)),
                           dropout, is_training());
  }
  double dropout;
  torch::Tensor tokens, positions;
};
TORCH_MODULE(OwnEmbedding);

struct OwnBlockImpl : torch::nn::Module {
  explicit OwnBlockImpl(const OwnGpt2Options& o)
      : heads(o.num_heads),
        dropout(o.dropout),
        norm_attention(norm("norm_attention", o.hidden_size)),
        norm_mlp(norm("norm_mlp", o.hidden_size)),
        qkv(linear("qkv", o.hidden_size, 3 * o.hidden_size, 0.02)),
        projection(linear("projection", o.hidden_size, o.hidden_size, of_branch(o))),
        up(linear("up", o.hidden_size, 4 * o.hidden_size, 0.02)),
        down(linear("down", 4 * o.hidden_size, o.hidden_size, of_branch(o))) {}

  torch::Tensor forward(const torch::Tensor& x) {  // [B, T, hidden]
    const std::int64_t B = x.size(0), T = x.size(1), head = x.size(2) / heads;
    const auto parts = qkv(norm_attention(x)).view({B, T, 3, heads, head}).unbind(2);
    const auto attended = at::scaled_dot_product_attention(parts[0].transpose(1, 2),
                                                           parts[1].transpose(1, 2),
                                                           parts[2].transpose(1, 2), {}, 0.0, true);
    const auto h = x + dropped(projection(attended.transpose(1, 2).reshape(x.sizes())));
    return h + dropped(down(torch::gelu(up(norm_mlp(h)), "tanh")));
  }

 private:
  static double of_branch(const OwnGpt2Options& o) {
    return 0.02 / std::sqrt(2.0 * static_cast<double>(o.num_layers));
  }
  torch::nn::LayerNorm norm(const std::string& name, std::int64_t width) {
    return register_module(name, torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  }
  torch::nn::Linear linear(const std::string& name, std::int64_t from, std::int64_t to,
                           double deviation) {
    torch::nn::Linear made(from, to);
    torch::nn::init::normal_(made->weight, 0, deviation);
    torch::nn::init::zeros_(made->bias);
    return register_module(name, made);
  }
  torch::Tensor dropped(const torch::Tensor& branch) {
    return trainx::dropout(branch, dropout, is_training());
  }

  std::int64_t heads;
  double dropout;
  torch::nn::LayerNorm norm_attention, norm_mlp;
  torch::nn::Linear qkv, projection, up, down;
};
TORCH_MODULE(OwnBlock);

struct OwnHeadImpl : torch::nn::Module {
  OwnHeadImpl(const OwnGpt2Options& o, torch::Tensor tokens_table)
      : norm(register_module("norm",
                             torch::nn::LayerNorm(torch::nn::LayerNormOptions({o.hidden_size})))),
        tokens(register_parameter("tokens", std::move(tokens_table))) {}
  torch::Tensor forward(const torch::Tensor& x) { return torch::linear(norm(x), tokens); }
  torch::nn::LayerNorm norm;
  torch::Tensor tokens;
};
TORCH_MODULE(OwnHead);

inline std::vector<trainx::Module> build_own_gpt2(const OwnGpt2Options& o,
                                                  const trainx::ModelShape& shape) {
  const auto table = 0.02 * torch::randn({shape.vocab_size, o.hidden_size});
  std::vector<trainx::Module> chain{
      trainx::named("embedding", OwnEmbedding(o, table, shape.max_positions))};
  for (std::int64_t i = 0; i < o.num_layers; ++i)
    chain.push_back(trainx::named("block" + std::to_string(i), OwnBlock(o)));
  chain.push_back(trainx::named("head", OwnHead(o, table)));
  return chain;
}
